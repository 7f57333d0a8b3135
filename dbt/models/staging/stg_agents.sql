{{ rows_by_run(source('windows', 'agents')) }}
