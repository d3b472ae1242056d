use super::*;
use crate::catalog::Catalog;
use crate::sources::tests_support::run;
use crate::sources::{Texts, typed_scan};
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use datafusion::dataframe::DataFrame;
use datafusion::prelude::{SessionConfig, SessionContext};
use sha2::{Digest, Sha256};

fn digest(path: &Path) -> String {
    let hash = Sha256::digest(std::fs::read(path).unwrap());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The answer to a query over the sample.
fn answer(directory: &Path, query: &str) -> RecordBatch {
    run(async {
        let catalog = Catalog::read(directory.join("deniable.toml")).unwrap();
        // One thread, so that rows come in the order of the file.
        let session = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1));
        for (name, table) in &catalog.tables {
            let plan = typed_scan(&session.state(), name, table, Texts::Canonical)
                .await
                .unwrap();
            let rows = DataFrame::new(session.state(), plan);
            session.register_table(name.as_str(), rows.into_view()).unwrap();
        }
        let batches = session.sql(query).await.unwrap().collect().await.unwrap();
        datafusion::arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap()
    })
}

fn integers(batch: &RecordBatch, column: usize) -> Vec<i64> {
    batch.column(column).as_primitive::<Int64Type>().values().to_vec()
}

#[test]
fn the_sample_is_what_its_catalog_says() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("not/yet/there");
    let mut last = (0, 0);
    let catalog = ensure(&directory, |done, all| {
        assert!(done >= last.0);
        last = (done, all);
    })
    .unwrap();
    assert_eq!(last, (PEOPLE + VISITS, PEOPLE + VISITS));
    assert_eq!(catalog, directory.join("deniable.toml"));
    let mut names: Vec<_> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["deniable.toml", "people.parquet", "regions.csv", "visits.parquet"]
    );

    let people = answer(
        &directory,
        "SELECT count(*), count(DISTINCT person_id), count(income), min(age), max(age), count(DISTINCT region), max(hours) FROM people",
    );
    let found: Vec<_> = (0..7).map(|column| integers(&people, column)[0]).collect();
    assert_eq!((found[0], found[1]), (PEOPLE as i64, PEOPLE as i64));
    assert!(
        (290_000..299_000).contains(&found[2]),
        "a few incomes are unknown: {}",
        found[2]
    );
    assert_eq!((found[3], found[4], found[5]), (0, 100, 12));
    assert!(found[6] <= 80);

    // Incomes grow with schooling.
    let incomes = answer(
        &directory,
        "SELECT avg(income) FROM people WHERE age BETWEEN 30 AND 60 GROUP BY education
         ORDER BY CASE education WHEN 'none' THEN 0 WHEN 'primary' THEN 1 WHEN 'secondary' THEN 2 WHEN 'vocational' THEN 3
           WHEN 'bachelor' THEN 4 WHEN 'master' THEN 5 ELSE 6 END",
    );
    let incomes = incomes.column(0).as_primitive::<Float64Type>().values().to_vec();
    assert_eq!(incomes.len(), 7);
    assert!(
        incomes.windows(2).all(|pair| pair[0] * 1.05 < pair[1]),
        "{incomes:?}"
    );

    // Few people make many visits, and rows lie sorted by person.
    let visits = answer(
        &directory,
        "SELECT count(*), count(DISTINCT person_id), count(DISTINCT department), (SELECT max(c) FROM (SELECT count(*) AS c FROM visits GROUP BY person_id)) FROM visits",
    );
    let found: Vec<_> = (0..4).map(|column| integers(&visits, column)[0]).collect();
    assert_eq!(found[0], VISITS as i64);
    assert!((900_000..1_100_000).contains(&found[0]), "{found:?}");
    assert!(
        found[1] < 240_000 && found[2] == 10 && found[3] >= 200,
        "{found:?}"
    );
    let persons = integers(&answer(&directory, "SELECT person_id FROM visits LIMIT 20000"), 0);
    assert!(persons.is_sorted());

    // Listed values are all the values there are, and every region is public.
    let strangers = answer(
        &directory,
        "SELECT count(*) FROM people LEFT JOIN regions ON people.region = regions.region WHERE regions.region IS NULL",
    );
    assert_eq!(integers(&strangers, 0), [0]);
    let catalog = Catalog::read(&catalog).unwrap();
    for (table, column) in [
        ("people", "sex"),
        ("people", "region"),
        ("people", "education"),
        ("people", "occupation"),
        ("visits", "department"),
    ] {
        let listed = catalog
            .table(table)
            .unwrap()
            .column(column)
            .unwrap()
            .values
            .as_deref()
            .unwrap()
            .len();
        let values = answer(
            &directory,
            &format!("SELECT count(DISTINCT {column}) FROM {table}"),
        );
        assert_eq!(integers(&values, 0), [listed as i64], "{table}.{column}");
    }

    // The same for everybody: whoever changes the rows changes these sums, and the catalog's `version`.
    let sums = answer(
        &directory,
        "SELECT sum(person_id * age), sum(person_id * hours), sum(CAST(round(income * 100) AS BIGINT)), sum(person_id * length(occupation)),
           sum(CASE WHEN smoker THEN person_id ELSE 0 END), sum(CAST(CAST(born AS INT) AS BIGINT)), sum(person_id * length(region)) FROM people",
    );
    let people: Vec<_> = (0..7).map(|column| integers(&sums, column)[0]).collect();
    assert_eq!(
        people,
        [
            1_803_264_405_067,
            790_627_685_258,
            564_323_678_046,
            329_769_051_679,
            7_107_543_757,
            1_685_716_062,
            423_168_027_869
        ]
    );
    let sums = answer(
        &directory,
        "SELECT sum(person_id), sum(minutes * length(department)), sum(CAST(round(cost * 100) AS BIGINT)), sum(CAST(CAST(day AS INT) AS BIGINT)) FROM visits",
    );
    let visits: Vec<_> = (0..4).map(|column| integers(&sums, column)[0]).collect();
    assert_eq!(
        visits,
        [148_492_181_701, 306_605_160, 16_788_936_353, 19_864_779_833]
    );

    // What is there stays; what is missing is made again, the same.
    let visits = directory.join("visits.parquet");
    std::fs::write(directory.join("regions.csv"), "mine").unwrap();
    let before = digest(&visits);
    std::fs::remove_file(&visits).unwrap();
    ensure(&directory, |_, _| {}).unwrap();
    assert_eq!(digest(&visits), before);
    assert_eq!(
        std::fs::read_to_string(directory.join("regions.csv")).unwrap(),
        "mine"
    );
    ensure(&directory, |_, _| panic!("nothing to do")).unwrap();
}

#[test]
fn two_who_begin_at_once_leave_one_sample() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("sample");
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| ensure(&directory, |_, _| {})))
            .collect();
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
    });
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 4);
    let rows = answer(&directory, "SELECT count(*) FROM people");
    assert_eq!(integers(&rows, 0), [PEOPLE as i64]);
}
