-- What changed since last week? The seven days up to the newest run, and the seven before, by task and variant;
-- a row that was edited in between is another row, and is left out.
with trials as (
    select eval, query_id, variant, row_hash, verdict = 'passed' as passed,
           max(completed_at) over () - completed_at < interval 7 days as is_new
    from read_parquet('tables/attempts/*.parquet', union_by_name = true)
    where counts and attack is null and verdict <> 'errored' and completed_at is not null
    qualify max(completed_at) over () - completed_at < interval 14 days
)
select eval, query_id, variant,
       round(avg(passed::int) filter (not is_new), 3) as before,
       round(avg(passed::int) filter (is_new), 3) as since,
       count(*) filter (not is_new) as trials_before,
       count(*) filter (is_new) as trials_since
from trials
group by eval, query_id, variant, row_hash
having trials_before > 0 and trials_since > 0 and before <> since
order by since - before, eval, query_id, variant;
