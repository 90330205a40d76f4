-- Counts a raw log as `clickvec prepare` does, in Spark or DuckDB. `prepare` reads the table that it gives.
with searches as (
    -- Queries and users, whatever their case and the spaces in them. A user that nobody is has no name.
    select
        lower(trim(replace(replace(replace(replace(replace(query, chr(9), ' '), '  ', ' '), '  ', ' '), '  ', ' '), '  ', ' '))) as query,
        trim(item) as item, position, clicked, time,
        case
            when translate(who, concat('0+-.{}[]()<>"`?_*#/ ', chr(39)), '') = '' then null
            when translate(trim(who), '0123456789.', '') = '-' then null
            when translate(lower(who), 'f-{} ', '') = '' and length(translate(who, '-{} ', '')) >= 8 then null
            when lower(trim(who)) in ('\n', '\\n', '\\\\n', '#ref!', '#name?', '#value!') then null
            when lower(translate(who, concat('()[]<>{}"`?_*#/!.:; -', chr(39)), '')) in (
                'anon', 'anonym', 'anonyme', 'anonymous', 'anonymoususer', 'anonymousvisitor', 'anónimo', 'blank', 'default',
                'defaultuser', 'deleted', 'deleteduser', 'desconocido', 'empty', 'false', 'gast', 'guest', 'guests',
                'guestuser', 'hidden', 'inconnu', 'inf', 'infinity', 'invité', 'loggedout', 'masked', 'missing', 'na', 'nan',
                'nat', 'nil', 'nobody', 'none', 'noone', 'notavailable', 'notloggedin', 'notprovided', 'notset', 'nouser',
                'null', 'nv', 'objectobject', 'other', 'redacted', 'removed', 'removeduser', 'signedout', 'unassigned',
                'unbekannt', 'undefined', 'unknown', 'unknownuser', 'user', 'visitor', 'void', '匿名', '游客'
            ) then null
            -- A whole number that a program wrote as a fraction.
            when translate(trim(who), '0123456789', '') = '.' and translate(split_part(trim(who), '.', 2), '0', '') = ''
                and split_part(trim(who), '.', 2) <> '' then regexp_replace(split_part(trim(who), '.', 1), '^0+', '')
            -- Zeros in front of a number.
            when translate(trim(who), '0123456789', '') = '' then regexp_replace(trim(who), '^0+', '')
            when length(translate(who, '-{} ', '')) = 32 and translate(lower(who), '0123456789abcdef-{} ', '') = ''
                then lower(translate(who, '-{} ', ''))
            else lower(trim(translate(who, concat('()[]<>{}"`', chr(39)), '')))
        end as who
    from log
),
robots as (
    -- Users with more queries on a day than a person makes. The rows of one list have one query and one time.
    select distinct who
    from (
        select who, substr(time, 1, 10) as day, count(distinct concat(query, ' ', time)) as queries
        from searches
        where who is not null
        group by who, substr(time, 1, 10)
    ) days
    where queries > 200
),
people as (
    select searches.*
    from searches
    join (select distinct trim(id) as id from titles) known on searches.item = known.id
    left join robots on searches.who = robots.who
    where robots.who is null and searches.query <> ''
),
asked as (
    -- Queries for which enough different users clicked.
    select query
    from people
    where clicked = 1
    group by query
    having count(distinct who) >= 2
)
select people.query, people.item, people.position, people.clicked, count(*) as count
from people
join asked on people.query = asked.query
group by people.query, people.item, people.position, people.clicked
