use super::*;
use std::net::{IpAddr, Ipv4Addr};

fn network(number: u32) -> Network {
    Network::of(IpAddr::V4(Ipv4Addr::from_bits((10 << 24) + number)))
}

/// The name of a stranger, another one each time.
fn random(number: usize) -> String {
    format!("stranger {number}")
}

/// Attempts where all turns are taken.
fn busy() -> (Arc<Attempts>, Vec<Turn>) {
    let attempts = Arc::new(Attempts::default());
    let taken = (0..AT_ONCE as u32).map(|number| {
        let entered = attempts.enter(&random(number as usize), network(1000 + number));
        assert!(matches!(entered, Ok(Entered::AtOnce)));
        Turn(Arc::clone(&attempts))
    });
    let taken = taken.collect();
    (attempts, taken)
}

impl Attempts {
    fn enter(&self, name: &str, from: Network) -> Result<Entered, Duration> {
        self.lock().enter(name_of(name), from, Instant::now())
    }

    fn waits(&self, name: &str, from: Network) -> oneshot::Receiver<Turn> {
        match self.enter(name, from) {
            Ok(Entered::Waits { turn, .. }) => turn,
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_flood_from_one_network_waits_behind_everybody_else() {
    let (attempts, mut taken) = busy();
    let mut flood: Vec<_> = (0..MOST_WAITING)
        .map(|number| attempts.waits(&random(number), network(1)))
        .collect();
    // There is no more room for them. There is room for somebody from elsewhere: the last of them makes
    // place.
    assert!(attempts.enter(&random(99), network(1)).is_err());
    let mut ann = attempts.waits("ann", network(2));
    assert_eq!(
        flood[MOST_WAITING - 1].try_recv().unwrap_err(),
        oneshot::error::TryRecvError::Closed
    );
    // One of the flood came first; after that it is hers.
    let mut turns = 0;
    while ann.try_recv().is_err() {
        drop(taken.pop());
        turns += 1;
        assert!(turns <= 2);
        taken.extend(flood.iter_mut().find_map(|turn| turn.try_recv().ok()));
    }
}

#[test]
fn a_flood_at_one_name_waits_behind_everybody_else() {
    let (attempts, mut taken) = busy();
    let flood: Vec<_> = (0..MOST_WAITING as u32)
        .map(|number| attempts.waits("carol", network(number)))
        .collect();
    let mut ann = attempts.waits("ann", network(2000));
    // Turns of those who went away are handed on.
    drop(flood);
    drop(taken.pop());
    assert!(ann.try_recv().is_ok());
}

#[test]
fn rates_of_strangers_are_their_own() {
    let attempts = Arc::new(Attempts::default());
    let tried = |name: &str, from: Network| attempts.enter(name, from).is_ok();
    // With random names, from one network. (Where they then wait is another matter: let them go at once.)
    let let_go = |number: usize| {
        let mut state = attempts.lock();
        state.running = 0;
        drop(state);
        tried(&random(number), network(1))
    };
    assert_eq!(
        (0..1000).filter(|number| let_go(*number)).count(),
        A_MINUTE as usize
    );
    // No further names are held for refused attempts.
    assert_eq!(attempts.lock().by_name.len(), A_MINUTE as usize);
    attempts.lock().running = 0;
    assert!(tried("ann", network(2)));

    // At one name, from one network and from many.
    let at_carol = |from: Network| {
        attempts.lock().running = 0;
        tried("carol", from)
    };
    assert_eq!(
        (0..100).filter(|_| at_carol(network(3))).count(),
        A_MINUTE_AT_ONE_PLACE as usize
    );
    let everywhere = (0..100).filter(|number| at_carol(network(100 + number))).count();
    assert_eq!(everywhere, (A_MINUTE - A_MINUTE_AT_ONE_PLACE) as usize);
    // All of that is nothing to carol where she signed in before, nor do others use up what she has there.
    attempts.succeeded("carol", network(500));
    assert!(at_carol(network(500)));
    assert!(!at_carol(network(501)));
}

#[test]
fn strangers_everywhere_leave_every_other_turn_to_who_signed_in_before() {
    let (attempts, mut taken) = busy();
    attempts.succeeded("ann", network(1));
    let mut flood: Vec<_> = (0..MOST_WAITING)
        .map(|number| attempts.waits(&random(number), network(100 + number as u32)))
        .collect();
    // A stranger more finds no room, and she does, twice.
    assert!(attempts.enter("ann", network(2)).is_err());
    let mut own = vec![
        attempts.waits("ann", network(1)),
        attempts.waits("ann", network(1)),
    ];
    for _ in 0..4 {
        drop(taken.pop());
        let next = own
            .iter_mut()
            .chain(flood.iter_mut())
            .find_map(|turn| turn.try_recv().ok());
        taken.push(next.unwrap());
    }
    let let_go = |turns: &mut Vec<oneshot::Receiver<Turn>>| {
        use oneshot::error::TryRecvError::Closed;
        let gone = turns.iter_mut().filter_map(|turn| turn.try_recv().err());
        gone.filter(|error| *error == Closed).count()
    };
    assert_eq!((let_go(&mut own), let_go(&mut flood)), (2, 2));
}

#[test]
fn networks_that_an_account_left_long_ago_are_strange_again() {
    let attempts = Attempts::default();
    for number in 0..=MOST_FAMILIAR as u32 {
        attempts.succeeded("ann", network(number));
    }
    let state = attempts.lock();
    let known = &state.familiar[&name_of("ann")];
    assert_eq!(known.len(), MOST_FAMILIAR);
    assert!(!known.contains(&network(0)));
}

#[tokio::test]
async fn who_goes_away_leaves_their_place_and_their_turn() {
    let (attempts, taken) = busy();
    let name = random(7);
    let gone = tokio::time::timeout(Duration::from_millis(10), attempts.turn(&name, network(1)));
    assert!(gone.await.is_err());
    assert!(attempts.lock().strangers.waiting.is_empty());
    drop(taken);
    assert_eq!(attempts.lock().running, 0);
    let turn = attempts.turn("ann", network(1)).await.unwrap();
    assert_eq!(attempts.lock().running, 1);
    drop(turn);
    assert_eq!(attempts.lock().running, 0);
}
