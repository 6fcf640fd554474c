-- After how many steps does the first tool call fail, and what comes of such an attempt?
with first_errors as (
    select run_id, eval, query_id, variant, trial, attempt,
           min(step) filter (is_error) as first_error,
           arg_min(tool, step) filter (is_error) as tool
    from read_parquet('tables/steps/*.parquet', union_by_name = true)
    group by all
)
select f.tool,
       count(*) as attempts,
       median(f.first_error) as median_step,
       round(avg((a.verdict = 'passed')::int) filter (a.verdict <> 'errored'), 3) as pass_rate
from first_errors f
join read_parquet('tables/attempts/*.parquet', union_by_name = true) a
    using (run_id, eval, query_id, variant, trial, attempt)
where a.counts and a.attack is null and f.first_error is not null
group by f.tool
order by attempts desc, f.tool;
