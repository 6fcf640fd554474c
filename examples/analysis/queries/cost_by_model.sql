-- What does a passed trial cost with each model? Money of all attempts, earlier ones that errored included.
select model,
       variant,
       count(*) filter (counts and verdict <> 'errored') as judged,
       round(count(*) filter (counts and verdict = 'passed') / nullif(judged, 0), 3) as pass_rate,
       round(sum(cost_usd), 6) as cost_usd,
       round(sum(cost_usd) / nullif(count(*) filter (counts and verdict = 'passed'), 0), 6) as usd_per_passed,
       count(*) filter (cost_usd is null) as attempts_of_unknown_cost
from read_parquet('tables/attempts/*.parquet', union_by_name = true)
where attack is null
group by model, variant
order by pass_rate desc nulls last, cost_usd, variant;
