use super::*;
use proptest::prelude::*;

fn source(text: &str) -> Source<'_> {
    Source { path: "shop/buy.sql", text }
}

/// The value of an expression in which `:n` is 7 and `:t` a text.
fn value(text: &str) -> Result<Datum, String> {
    let mut names = Names::default();
    let variables = [names.slot("n"), names.slot("t"), names.slot("new")].map(|slot| match slot {
        0 => Datum::Int(7),
        1 => Datum::Text("12.5".to_string()),
        _ => Datum::Unset,
    });
    names.set_rows("Item", 100);
    let read = expression(text, 1, &mut names).map_err(|flaw| flaw.message)?;
    let random = &mut Random::new(1);
    read.value(&mut Frame { names: &names, variables: &variables, random, default_seed: 42 })
}

fn int(text: &str) -> i64 {
    match value(text) {
        Ok(Datum::Int(n)) => n,
        other => panic!("{text}: {other:?}"),
    }
}

fn truth(text: &str) -> Option<bool> {
    value(text).unwrap().truth().unwrap()
}

fn flaw(text: &str) -> Flaw {
    let mut names = Names::default();
    names.slot("known");
    program(source(text), &mut names).expect_err(text)
}

fn read(text: &str) -> Program {
    let mut names = Names::default();
    for name in ["known", "id", "amount"] {
        names.slot(name);
    }
    program(source(text), &mut names).unwrap_or_else(|flaw| panic!("{text}: {flaw:?}"))
}

fn texts(text: &str) -> Vec<String> {
    statements(source(text)).unwrap().into_iter().map(|one| one.sql).collect()
}

#[test]
fn operators_bind_as_in_pgbench() {
    for (text, wanted) in [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("-2 * -3", 6),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("1 | 2 + 4", 7),
        ("~ 1 + 2", -4),
        ("1 << 4 - 1", 8),
        ("6 # 3 & 1", 1),
        ("10 - 4 - 3", 3),
        ("-9223372036854775808", i64::MIN),
        ("case when 1 > 2 then 3 when :n = 7 then 4 else 5 end", 4),
        ("rows(item) + rows('ITEM')", 200),
        ("int(2.5) + int(3.5) + int(-0.4)", 6),
        ("greatest(1, :n, 3) - least(4, 2)", 5),
        ("mod(17, 5)", 2),
        ("abs(-3)", 3),
    ] {
        assert_eq!(int(text), wanted, "{text}");
    }
    for (text, wanted) in [
        ("not 1 = 2 and true", Some(true)),
        ("1 = 1 or null", Some(true)),
        ("1 = 2 or null", None),
        ("false and null", Some(false)),
        ("null is null", Some(true)),
        ("null = 1", None),
        ("1 < 2 is true", Some(true)),
        ("null notnull", Some(false)),
        ("1 isnull", Some(false)),
        ("null is not true", Some(true)),
        ("1.5 > 1", Some(true)),
        (":t > 9", Some(true)),
        ("'b' > 'a'", Some(true)),
    ] {
        assert_eq!(truth(text), wanted, "{text}");
    }
    assert_eq!(value("1 / 2.0"), Ok(Datum::Real(0.5)));
    assert_eq!(value(":t * 2"), Ok(Datum::Real(25.0)));
    assert_eq!(value("sqrt(16) + pi() * 0 + ln(exp(1)) + power(2, 3)"), Ok(Datum::Real(13.0)));
    assert_eq!(value("concat('a', 1, null, 1 = 1)"), Ok(Datum::Text("a1true".to_string())));
}

#[test]
fn hashes_are_those_that_the_algorithms_define() {
    // FNV-1a of eight zero bytes by its definition; the others are what pgbench answers.
    assert_eq!(int("hash_fnv1a(0, 0)") as u64, 0xa8c7_f832_281a_39c5);
    assert_eq!(int("hash_fnv1a(10, 5432)"), -7_793_829_335_365_542_153);
    assert_eq!(int("hash_murmur2(10, 5432)"), -5_817_877_081_768_721_676);
    assert_eq!(int("hash(10, 5432)"), int("hash_murmur2(10, 5432)"));
    assert_eq!(int("hash(10)"), int("hash(10, 42)"));
}

#[test]
fn days_are_those_of_the_calendar() {
    for (text, wanted) in [
        ("day('2024-02-28', 1)", "2024-02-29"),
        ("day('2023-02-28', 1)", "2023-03-01"),
        ("day('1970-01-01', -1)", "1969-12-31"),
        ("day('2000-01-01', 366)", "2001-01-01"),
        ("day('0001-01-01', 0)", "0001-01-01"),
        ("day('9999-12-30', 1)", "9999-12-31"),
        ("moment('2026-12-31 23:59:59', 1)", "2027-01-01 00:00:00"),
        ("moment('2026-01-01', -1)", "2025-12-31 23:59:59"),
    ] {
        assert_eq!(value(text), Ok(Datum::Text(wanted.to_string())), "{text}");
    }
    for (text, part) in [
        ("day('2023-02-29', 1)", "no date as"),
        ("day('tomorrow', 1)", "no date as"),
        ("day('9999-12-31', 1)", "no day of the years"),
        ("moment('2026-01-01 25:00:00', 1)", "no moment as"),
    ] {
        assert!(value(text).unwrap_err().contains(part), "{text}");
    }
}

#[test]
fn what_cannot_be_worked_out_is_reported() {
    for (text, part) in [
        ("1 / 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("9223372036854775807 + 1", "out of the range"),
        ("abs(-9223372036854775808)", "out of the range"),
        ("random(2, 1)", "the range from 2 to 1 is empty"),
        ("random_gaussian(1, 2, 1.5)", "at least 2"),
        ("random_exponential(1, 2, 0)", "greater than 0"),
        ("random_zipfian(1, 2, 0)", "greater than 0"),
        (":new + 1", "the variable :new has no value yet"),
        ("'x' + 1", "'x' is no whole number"),
        ("permute(1, 0)", "must be greater than 0"),
        ("text(-1)", "not between 0"),
    ] {
        let message = value(text).expect_err(text);
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn what_is_no_expression_is_reported() {
    for (text, part) in [
        ("", "a value is missing at the end"),
        ("1 +", "a value is missing at the end"),
        ("1 2", "2 is not expected here"),
        ("(1", ") is missing at the end"),
        ("random(1)", "random takes 2 arguments, here are 1"),
        ("permute(1)", "permute takes 2 or 3 arguments"),
        ("rnd(1, 2)", "rnd is no function"),
        (":nn", "perhaps :n is meant"),
        ("known", "a variable is written :known"),
        ("'open", "no closing quote"),
        ("99999999999999999999", "out of the range"),
        ("rows(orders)", "no load says how many rows orders has"),
        ("1 is 2", "null, true or false is expected"),
        ("case 1 end", "when is expected"),
        ("1 ; 2", "; has no meaning"),
        ("concat(text(50000000), text(50000000))", "a length of 100000000 is not between"),
    ] {
        let message = value(text).expect_err(text);
        assert!(message.contains(part), "{text}: {message}");
    }
    assert!(value(&"(".repeat(5_000)).unwrap_err().contains("nested too deeply"));
}

#[test]
fn statements_end_where_engines_end_them() {
    assert_eq!(
        texts("select 1; select ';' ; -- ; no\n select \"a;b\", /* ; /* ; */ */ 2"),
        ["select 1", "select ';'", "select \"a;b\",   2"]
    );
    assert_eq!(
        texts("create function f() returns int as $x$ begin; $x$ language plpgsql; select $1"),
        ["create function f() returns int as $x$ begin; $x$ language plpgsql", "select $1"]
    );
    let trigger =
        "create trigger t after insert on a begin update b set n = case when 1 then 2 end; delete from c; end";
    assert_eq!(texts(&format!("{trigger}; select 2;")), [trigger, "select 2"]);
    let procedure = "create procedure p() begin if 1 then select 1; end if; while 1 do select 2; end while; end";
    assert_eq!(texts(&format!("{procedure};\nselect 3")), [procedure, "select 3"]);
    assert_eq!(
        texts("set term ^ ;\ncreate procedure p as begin exit; end^\nset term ; ^\nselect 1 from t;"),
        ["create procedure p as begin exit; end", "select 1 from t"]
    );
    assert_eq!(
        texts("delimiter //\ncreate procedure p() begin select 1; end//\ndelimiter ;\nselect 1;"),
        ["create procedure p() begin select 1; end", "select 1"]
    );
    assert_eq!(texts("insert into t values (E'it\\'s; ', 'it''s;')"), ["insert into t values (E'it\\'s; ', 'it''s;')"]);
    assert_eq!(texts(";;  ; "), [] as [&str; 0]);
    assert_eq!(texts("create rule r as on insert to t do (select 1; select 2); select 3").len(), 2);
    let named = statements(source("-- The first.\n-- No stock is negative.\nselect 1;\n\n-- far\n\nselect 2")).unwrap();
    let comments: Vec<_> = named.iter().map(|one| (one.line, one.comment.as_deref())).collect();
    assert_eq!(comments, [(3, Some("No stock is negative.")), (7, None)]);
    for (text, line) in
        [("create table t (a int);\n\ncopy t from stdin;\n1\n\\.\n", 3), ("\\copy t from stdin\nit's", 1)]
    {
        let found = statements(source(text)).unwrap_err();
        assert!(found.message.contains("CSV file"), "{}", found.message);
        assert_eq!(found.line, line, "{text}");
    }
    for (text, line) in [("\n\nselect 'open", 3), ("select 1;\n/* open", 2), ("select 1;\n\\set x 1", 2)] {
        assert_eq!(statements(source(text)).unwrap_err().line, line, "{text}");
    }
}

#[test]
fn variables_are_found_where_they_stand_for_values() {
    let statement = |text: &str| read(text).statements.remove(0);
    let one = statement("update t set a = a + :amount, b = b::int where id = :id and c[1:2] is null;");
    assert_eq!(one.parts, ["update t set a = a + ", ", b = b::int where id = ", " and c[1:2] is null"]);
    assert_eq!(one.parameters, [Parameter::Slot(2), Parameter::Slot(1)]);
    assert!(!one.rendered);
    let quoted = statement("select 'no :nobody', '12:30:45', 'it''s :id!';");
    assert_eq!(quoted.parts, ["select 'no :nobody', '12:30:45', ", ""]);
    let pieces = vec![Piece::Plain("it's ".into()), Piece::Slot(1), Piece::Plain("!".into())];
    assert_eq!(quoted.parameters, [Parameter::Text(pieces)]);
    for text in ["select * from t:id;", "select * from :known;", "select interval ':id days';", "drop table :known"] {
        assert!(statement(text).rendered, "{text}");
    }
    assert_eq!(statement("select $$:id$$, \":id\"").parameters, []);
}

#[test]
fn branches_and_loops_become_jumps() {
    let script = read("\\if :id > 1\nselect 1;\n\\elif :id > 0\nselect 2;\n\\else\nselect 3;\n\\endif\n\\repeat 3\nselect 4;\n\\endrepeat\n");
    let jumps: Vec<_> = script
        .commands
        .iter()
        .enumerate()
        .filter_map(|(at, (command, _))| match command {
            Command::Unless { to, .. }
            | Command::Jump { to }
            | Command::Repeat { to, .. }
            | Command::Again { to, .. } => Some((at, *to)),
            _ => None,
        })
        .collect();
    assert_eq!(jumps, [(0, 3), (2, 7), (3, 6), (5, 7), (7, 10), (9, 8)]);
}

#[test]
fn commands_are_those_of_pgbench_and_ours() {
    let script = read(
        "\\set id random(1, \\\n  100)\nBEGIN;\nSELECT a AS known FROM t WHERE id = :id \\gset\n\\expect 1\n\
         UPDATE t SET a = :known WHERE id = :id;\n\\expect 1\nEND;\n\\sleep 5 ms\n\\sleep :id us\n\\think random(1, 2) s\n",
    );
    assert!(script.writes && !script.defines);
    let kinds: Vec<_> = script.commands.iter().map(|(command, line)| (command_name(command), *line)).collect();
    assert_eq!(kinds, [("set", 1), ("begin", 3), ("run", 4), ("run", 6), ("commit", 8), ("sleep", 9), ("sleep", 10)]);
    let Command::Run { after, expect, .. } = &script.commands[2].0 else { panic!() };
    assert_eq!((after, expect), (&After::Set(String::new()), &Some(Expression::Constant(Datum::Int(1)))));
    let Command::Sleep { unit_us, .. } = script.commands[6].0 else { panic!() };
    assert_eq!(unit_us, 1.0);
    assert_eq!(script.think.map(|(_, unit_us)| unit_us), Some(1e6));

    let joined = read("select 1 \\; select 2 as known \\gset\nselect 3;");
    let kinds: Vec<_> = joined.commands.iter().map(|(command, _)| command_name(command)).collect();
    assert_eq!(kinds, ["gather", "run", "run", "release", "run"]);
    let piped = read("\\startpipeline\nselect 1;\nselect 2;\n\\syncpipeline\nselect 3;\n\\endpipeline\n");
    let kinds: Vec<_> = piped.commands.iter().map(|(command, _)| command_name(command)).collect();
    assert_eq!(kinds, ["gather", "run", "run", "release", "gather", "run", "release"]);
    let options = read("begin isolation level serializable; commit;").commands.remove(0).0;
    assert_eq!(options, Command::Begin { options: "isolation level serializable".to_string() });
    assert_eq!(read("start transaction; savepoint a; rollback to a; rollback;").commands.len(), 4);
}

fn command_name(command: &Command) -> &'static str {
    match command {
        Command::Begin { .. } => "begin",
        Command::Commit => "commit",
        Command::Rollback => "rollback",
        Command::Run { .. } => "run",
        Command::Set { .. } => "set",
        Command::Sleep { .. } => "sleep",
        Command::Unless { .. } => "unless",
        Command::Jump { .. } => "jump",
        Command::Repeat { .. } => "repeat",
        Command::Again { .. } => "again",
        Command::Gather => "gather",
        Command::Release => "release",
    }
}

#[test]
fn what_is_wrong_in_a_script_is_told_with_its_line() {
    for (text, line, part) in [
        ("select 1;\nselect :knwon;", 2, "unknown variable :knwon; perhaps :known is meant"),
        ("\\set x\n", 1, "\\set takes a name and an expression"),
        ("\n\\set x 1 +\n", 2, "a value is missing"),
        ("\\if 1\nselect 1;", 1, "\\if has no \\endif"),
        ("\\endif", 1, "\\endif without an \\if"),
        ("\\else", 1, "\\else without an \\if"),
        ("\\if 1\n\\else\n\\else\n\\endif", 3, "\\else behind \\else"),
        ("\\if 1\n\\repeat 2\n\\endif", 3, "\\endif without an \\if"),
        ("\\repeat 2\nselect 1;", 1, "\\repeat has no \\endrepeat"),
        ("\\gset", 1, "right behind a query"),
        ("select 1;\n\\set x 1\n\\expect 1", 3, "right behind a statement"),
        ("\\shell rm", 1, "which acidtest does not do"),
        ("\\setrandom x 1 2", 1, "\\setrandom is no command"),
        ("\\startpipeline\nselect 1;", 2, "has no \\endpipeline"),
        ("\\endpipeline", 1, "without a \\startpipeline"),
        ("-- nothing\n", 1, "nothing in it to run"),
        ("select 'open", 1, "' opens what nothing closes"),
        ("commit and chain;", 1, "commit alone"),
        ("\\if 1\n\\think 1\n\\endif", 2, "of the whole script"),
        ("\\", 1, "a command is expected"),
        ("select 1;\nCOPY t (a, b)\nFROM STDIN WITH (format csv);\n1,'open\n\\.\n", 2, "copy from stdin takes rows"),
        ("\ncopy (select 1) to stdout;", 2, "copy to stdout sends rows"),
        ("\\copy t from 'a.csv'\n", 1, "\\copy is a command of psql's"),
    ] {
        let found = flaw(text);
        assert!(found.message.contains(part), "{text:?}: {}", found.message);
        assert_eq!(found.line, line, "{text:?}: {}", found.message);
    }
    for text in ["copy t from 'a.csv' with (format csv);", "select a as copy from stdin;", "copy t to '/stdout';"] {
        read(text);
    }
    assert_eq!(flaw("\\endif").located("shop/buy.sql"), "shop/buy.sql:1: \\endif without an \\if");
}

#[test]
fn a_distribution_has_its_shape() {
    let mut random = Random::new(11);
    let share = |mut draw: Box<dyn FnMut() -> i64>, low: i64, high: i64| {
        (0..100_000).filter(|_| (low..=high).contains(&draw())).count() as f64 / 100_000.0
    };
    let mut gaussian = random.clone();
    let middle = share(Box::new(move || gaussian.gaussian(1, 100, 4.0).unwrap()), 26, 75);
    assert!((0.945..0.965).contains(&middle), "{middle}: a half of four deviations to each side is two deviations");
    let mut exponential = random.clone();
    let first = share(Box::new(move || exponential.exponential(1, 100, 10.0).unwrap()), 1, 10);
    assert!((0.625..0.640).contains(&first), "{first}: 1 - 1/e of all are in the first tenth");
    for exponent in [0.99, 1.0, 1.5, 3.0] {
        let mut zipfian = random.clone();
        let sum: f64 = (1..=1000).map(|k| f64::from(k).powf(-exponent)).sum();
        let ones = share(Box::new(move || zipfian.zipfian(1, 1000, exponent).unwrap()), 1, 1);
        assert!((ones - 1.0 / sum).abs() < 0.01, "{exponent}: {ones} and not {}", 1.0 / sum);
    }
    assert!((1..=3000).contains(&random.nurand(1023, 1, 3000, 99).unwrap()));
}

proptest! {
    #[test]
    fn a_draw_is_in_its_range(low in -1_000_000i64..1_000_000, width in 0i64..1_000_000, seed: u64, s in 0.01f64..20.0) {
        let mut random = Random::new(seed);
        let range = low..=low + width;
        for _ in 0..20 {
            prop_assert!(range.contains(&random.even(low, low + width).unwrap()));
            prop_assert!(range.contains(&random.exponential(low, low + width, s).unwrap()));
            prop_assert!(range.contains(&random.gaussian(low, low + width, 2.0 + s).unwrap()));
            prop_assert!(range.contains(&random.zipfian(low, low + width, s).unwrap()));
            prop_assert!(range.contains(&random.nurand(255, low, low + width, s as i64).unwrap()));
        }
    }

    #[test]
    fn a_permutation_gives_each_number_once(size in 1i64..300, seed: i64) {
        let mut seen: Vec<i64> = (0..size).map(|n| draw::permute(n, size, seed).unwrap()).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..size).collect::<Vec<_>>());
    }

    #[test]
    fn days_come_one_after_another(days in -719_162i64..2_932_895) {
        let at = |n: i64| value(&format!("day('1970-01-01', {n})")).unwrap().to_string();
        prop_assert!(at(days) < at(days + 1));
        prop_assert_eq!(value(&format!("day('{}', {})", at(days), -days)).unwrap().to_string(), "1970-01-01");
    }

    #[test]
    fn no_text_is_too_strange(text in "[\\\\;:'\"$a-z0-9 \n()/*=,.+-]{0,200}") {
        let _ = program(source(&text), &mut Names::default());
        let _ = statements(source(&text));
        let _ = value(&text);
    }

    #[test]
    fn no_command_is_too_strange(words in prop::collection::vec(
        prop::sample::select(vec![
            "\\if", "\\elif", "\\else", "\\endif", "\\set", "x", ":x", "1", "\n", "\\gset", "\\repeat", "\\endrepeat",
            "select", ";", "\\;", "'", "begin", "end", "(", ")", "case", "when", "then", "\\startpipeline",
            "\\endpipeline", "\\sleep", "ms", "\\expect", "is", "not", "null", "-", "::", "$$", "/*", "*/", "--",
        ]),
        0..60,
    )) {
        let text = words.join(" ");
        if let Ok(program) = program(source(&text), &mut Names::default()) {
            // Every jump lands in the script or right behind it.
            for (command, _) in &program.commands {
                match command {
                    Command::Unless { to, .. } | Command::Jump { to } | Command::Repeat { to, .. } => {
                        prop_assert!(*to > 0 && *to <= program.commands.len());
                    }
                    Command::Again { to, .. } => prop_assert!(*to < program.commands.len()),
                    _ => {}
                }
            }
        }
    }
}
