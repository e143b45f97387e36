//! Small puzzles whose answers are known by hand.

use super::*;

/// Kinds by what they ask for and how many are needed, bins by what is free, of two resources.
fn puzzle(kinds: &[([i64; 2], u32)], bins: &[[i64; 2]]) -> Puzzle {
    let most = |free: [i64; 2], asks: [i64; 2]| {
        let copies = free.iter().zip(asks).filter(|(_, asked)| *asked > 0).map(|(free, asked)| free / asked);
        copies.min().map_or(u32::MAX, |copies| copies as u32)
    };
    let bin =
        |free: &[i64; 2]| Bin { free: free.to_vec(), most: kinds.iter().map(|(asks, _)| most(*free, *asks)).collect() };
    Puzzle {
        need: kinds.iter().map(|(_, need)| *need).collect(),
        asks: kinds.iter().map(|(asks, _)| asks.to_vec()).collect(),
        clash: vec![vec![false; kinds.len()]; kinds.len()],
        bins: bins.iter().map(bin).collect(),
    }
}

fn solve(puzzle: &Puzzle, steps: u32) -> Answer<Vec<Vec<u32>>> {
    let answer = puzzle.solve(&mut { steps });
    if let Answer::Found(packs) = &answer {
        for (kind, need) in puzzle.need.iter().enumerate() {
            assert_eq!(packs.iter().map(|pack| pack[kind]).sum::<u32>(), *need, "{packs:?}");
        }
        for (bin, pack) in puzzle.bins.iter().zip(packs) {
            for (resource, free) in bin.free.iter().enumerate() {
                let taken = pack.iter().zip(&puzzle.asks).map(|(count, asks)| i64::from(*count) * asks[resource]);
                assert!(taken.sum::<i64>() <= *free, "{packs:?}");
            }
        }
    }
    answer
}

#[test]
fn a_bin_that_one_kind_alone_can_use_is_left_to_it() {
    // A driver fits both nodes, the worker the one with the GPU: so that is not the driver's, without a step.
    let packs = vec![vec![0, 1], vec![1, 0]];
    assert_eq!(solve(&puzzle(&[([6, 0], 1), ([4, 1], 1)], &[[8, 1], [8, 0]]), 0), Answer::Found(packs));
}

#[test]
fn what_the_fullest_first_does_not_find_is_found() {
    // 7 + 3 and 6 + 4 fill two bins of 10; the largest first, 7 and 6, leave room for just these two.
    let found = solve(&puzzle(&[([4, 0], 1), ([3, 0], 1), ([6, 0], 1), ([7, 0], 1)], &[[10, 0], [10, 0]]), 99);
    assert!(matches!(found, Answer::Found(_)), "{found:?}");
    // 6 + 4 in each of three bins, and 5 + 5 in the fourth.
    let found = solve(&puzzle(&[([5, 0], 2), ([4, 0], 3), ([6, 0], 3)], &[[10, 0]; 4]), 99);
    assert!(matches!(found, Answer::Found(_)), "{found:?}");
}

#[test]
fn impossible_is_proven_and_not_guessed() {
    // In the sum there is room, 17 of 20; but no bin takes two of 6, nor 6 and 5.
    let hard = puzzle(&[([6, 0], 2), ([5, 0], 1)], &[[10, 0], [10, 0]]);
    assert_eq!(solve(&hard, 99), Answer::Impossible);
    // Each of the five of 6 needs a bin for itself, and four bins take eight of 5.
    let large = puzzle(&[([6, 0], 5), ([5, 0], 9)], &[[10, 0]; 9]);
    assert_eq!(solve(&large, 4_000), Answer::Impossible);
    assert_eq!(solve(&large, 5), Answer::GaveUp);
}

#[test]
fn pods_whose_ports_clash_share_no_bin() {
    let mut two = puzzle(&[([1, 0], 1), ([1, 0], 1)], &[[9, 0]]);
    assert!(matches!(solve(&two, 99), Answer::Found(_)));
    two.clash = vec![vec![false, true], vec![true, false]];
    assert_eq!(solve(&two, 99), Answer::Impossible);
}

/// All ways are tried, and no other ones: compared with counting through them.
#[test]
fn the_answer_is_that_of_trying_all() {
    fn fits(puzzle: &Puzzle, kind: usize, left: u32, from: usize, free: &mut Vec<Vec<i64>>) -> bool {
        if left == 0 {
            return kind + 1 == puzzle.need.len() || fits(puzzle, kind + 1, puzzle.need[kind + 1], 0, free);
        }
        (from..free.len()).any(|bin| {
            let asks = &puzzle.asks[kind];
            if free[bin].iter().zip(asks).any(|(free, asked)| free < asked) {
                return false;
            }
            free[bin].iter_mut().zip(asks).for_each(|(free, asked)| *free -= asked);
            let found = fits(puzzle, kind, left - 1, bin, free);
            free[bin].iter_mut().zip(asks).for_each(|(free, asked)| *free += asked);
            found
        })
    }
    let (mut seed, mut found) = (1_u64, 0);
    let mut below = |end: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % end
    };
    for _ in 0..2_000 {
        let kinds: Vec<_> =
            (0..1 + below(4)).map(|_| ([1 + below(5), below(3)].map(u64::cast_signed), 1 + below(3) as u32)).collect();
        let bins: Vec<_> = (0..1 + below(4)).map(|_| [3 + below(8), below(5)].map(u64::cast_signed)).collect();
        let puzzle = puzzle(&kinds, &bins);
        let mut free = bins.iter().map(|bin| bin.to_vec()).collect();
        let is_possible = fits(&puzzle, 0, puzzle.need[0], 0, &mut free);
        let answer = solve(&puzzle, STEPS);
        assert_eq!(matches!(answer, Answer::Found(_)), is_possible, "{puzzle:?}");
        assert_eq!(answer == Answer::Impossible, !is_possible, "{puzzle:?}");
        found += u32::from(is_possible);
    }
    assert!((500..1_500).contains(&found), "of both enough: {found}");
}
