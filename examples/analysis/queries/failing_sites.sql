-- Which site fails most? Errored trials are not failures: they have a column of their own.
select website,
       count(*) filter (verdict <> 'errored') as judged,
       count(*) filter (verdict = 'failed') as failed,
       round(failed / nullif(judged, 0), 3) as share_failed,
       count(*) filter (verdict = 'errored') as errored
from read_parquet('tables/attempts/*.parquet', union_by_name = true)
where counts and attack is null
group by website
order by share_failed desc nulls last, failed desc, website;
