-- How often do two graders of one attempt agree, a judge and a rule for example? Cohen's kappa is 1 where they
-- always do, and 0 where they agree as often as by chance. Errored grades say nothing.
with grades as (
    select run_id, eval, query_id, variant, trial, attempt, grader, verdict = 'passed' as passed
    from read_parquet('tables/grades/*.parquet', union_by_name = true)
    where verdict <> 'errored' and attack is null
),
pairs as (
    select a.grader as one, b.grader as other, a.passed as p, b.passed as q
    from grades a
    join grades b using (run_id, eval, query_id, variant, trial, attempt)
    where a.grader < b.grader
),
rates as (
    select one, other,
           count(*) as both_graded,
           count(*) filter (p and not q) as only_one_passes,
           count(*) filter (q and not p) as only_other_passes,
           avg((p = q)::int) as agreement,
           avg(p::int) * avg(q::int) + (1 - avg(p::int)) * (1 - avg(q::int)) as by_chance
    from pairs
    group by one, other
)
select one, other, both_graded, only_one_passes, only_other_passes,
       round(agreement, 3) as agreement,
       round((agreement - by_chance) / nullif(1 - by_chance, 0), 3) as kappa
from rates
order by agreement, one, other;
