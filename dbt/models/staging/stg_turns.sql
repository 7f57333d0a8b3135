{{ rows_by_run(source('windows', 'turns')) }}
