{{ rows_by_run(source('measured', 'measures'), 'measures_folder') }}
