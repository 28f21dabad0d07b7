//! Tests of pools, buckets and free lists.

use super::*;
use flashyard_core::geometry::StripeOrder;

const FRONTIERS: Frontiers = Frontiers {
    streams: 1,
    generations: 1,
    maps: true,
    copied_maps: true,
    isolated: false,
    slc: false,
    journal: false,
};

fn geometry() -> Geometry {
    Geometry {
        channels: 1,
        ways: 1,
        dies_per_way: 1,
        planes: 1,
        blocks_per_plane: 8,
        pages_per_block: 4,
        page_bytes: 4096,
        units_per_page: 1,
        program_pages: 1,
        joined: 1,
        stripe_pages: 1,
        order: StripeOrder::Cwdp,
    }
}

/// Buckets against a full scan, under random programs, invalidations and erases.
#[test]
fn the_greedy_victim_has_the_fewest_valid_units() {
    let geometry = geometry();
    let plane = PlaneId::new(0);
    let mut blocks = Blocks::new(geometry, FRONTIERS, Care::default());
    let mut valid: Vec<Ppn> = Vec::new();
    let mut full: Vec<BlockId> = Vec::new();
    let mut random = 7u64;
    let mut victims = 0;
    for _ in 0..10_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let roll = usize::try_from(random >> 40).unwrap();
        if roll % 2 == 0 && valid.len() < 20 && blocks.free_blocks(plane) > 1 {
            let (ppn, _) = blocks.take_unit(plane, Frontier::HostData(0)).unwrap();
            blocks.programmed(ppn);
            blocks.validate(ppn);
            valid.push(ppn);
            if geometry.unit_in_block(ppn) == 3 {
                full.push(geometry.block_of(ppn));
            }
        } else if !valid.is_empty() {
            blocks.invalidate(valid.swap_remove(roll / 2 % valid.len()));
        }
        let fewest = full.iter().map(|&block| blocks.valid_units(block)).min();
        let victim = blocks.victim(plane);
        match victim {
            Some(victim) => assert_eq!(Some(blocks.valid_units(victim)), fewest),
            None => assert!(fewest.is_none_or(|fewest| fewest == 4)),
        }
        if let Some(victim) = victim.filter(|&victim| blocks.valid_units(victim) == 0) {
            blocks.claim(victim);
            blocks.erased(victim);
            full.retain(|&block| block != victim);
            victims += 1;
        }
    }
    assert!(victims > 100, "{victims}");
}

#[test]
fn free_blocks_are_used_fresh_ones_first_then_in_the_order_of_erase() {
    let plane = PlaneId::new(0);
    let mut blocks = Blocks::new(geometry(), FRONTIERS, Care::default());
    for page in 0..8 {
        let (ppn, opened) = blocks.take_unit(plane, Frontier::HostMap).unwrap();
        assert_eq!((ppn.get(), opened), (page, page % 4 == 0));
        blocks.programmed(ppn);
    }
    assert!(blocks.holds_map(BlockId::new(0)));
    for block in [1, 0] {
        blocks.claim(BlockId::new(block));
        blocks.erased(BlockId::new(block));
    }
    let next: Vec<u32> = (0..32)
        .map(|_| blocks.take_unit(plane, Frontier::HostData(0)).unwrap().0.get() / 4)
        .collect();
    assert_eq!(next[..24].chunks(4).map(|block| block[0]).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7]);
    assert_eq!((next[24], next[28]), (1, 0));
    assert!(blocks.take_unit(plane, Frontier::HostData(0)).is_none());
}

/// Copies that the power has ended keep no room of a superblock: as many are promised it again.
#[test]
fn promises_that_are_forgotten_take_no_room() {
    let array = Geometry { channels: 2, ..geometry() };
    let care = Care { united: true, ..Care::default() };
    let mut blocks = Blocks::new(array, FRONTIERS, care);
    let free = blocks.free_blocks(PlaneId::new(0));
    for _ in 0..5 {
        // Two superblocks of four pages on each plane.
        for plane in (0..16).map(|number| PlaneId::new(number % 2)) {
            blocks.promise(plane, Frontier::CopiedData(0));
        }
        assert_eq!(blocks.free_blocks(PlaneId::new(0)), free - 2);
        blocks.forget_promises();
    }
}

/// Blocks of superblocks wear out at different times. As long as no plane has fewer good blocks,
/// so many superblocks are used; each has a good block of every plane, and no two have the same.
#[test]
fn superblocks_are_as_many_as_the_good_blocks_of_the_weakest_plane() {
    for factory_bad in [0, 3] {
        let array = Geometry { channels: 3, blocks_per_plane: 32, ..geometry() };
        let care = Care { united: true, factory_bad, endurance: 12, ..Care::default() };
        let mut blocks = Blocks::new(array, FRONTIERS, care);
        let planes = || (0..3).map(PlaneId::new);
        let good = |blocks: &Blocks, plane| {
            let of = (0..32).map(|number| array.block(plane, number));
            u32::try_from(of.filter(|block| !blocks.is_bad(*block)).count()).unwrap()
        };
        let (mut erased, mut fewest) = (0, 32 - factory_bad);
        while fewest > 4 {
            let plane = PlaneId::new(0);
            assert_eq!(blocks.free_blocks(plane), fewest, "behind {erased} superblocks");
            let mut members = Vec::new();
            for home in (0..32).filter(|home| !blocks.bad[*home as usize]) {
                members.extend(planes().map(|plane| blocks.block_of(plane, BlockId::new(home))));
            }
            assert!(members.iter().all(|block| !blocks.is_bad(*block)));
            assert!(members.iter().all(|block| !blocks.bad[blocks.home(*block).index()]));
            members.sort_unstable();
            members.dedup();
            assert_eq!(members.len(), 3 * fewest as usize);
            // Fills a superblock with garbage and erases it.
            for unit in 0..12 {
                let plane = PlaneId::new(unit % 3);
                let (ppn, _) = blocks.take_unit(plane, Frontier::HostData(0)).expect("it is free");
                blocks.programmed(ppn);
            }
            let victim = blocks.victim(plane).expect("garbage");
            blocks.claim(victim);
            for plane in planes() {
                blocks.erased(blocks.block_of(plane, victim));
            }
            erased += 1;
            fewest = planes().map(|plane| good(&blocks, plane)).min().expect("planes");
        }
        let worn = planes().map(|plane| 32 - factory_bad - good(&blocks, plane)).sum::<u32>();
        assert_eq!(blocks.grown_bad(), u64::from(worn));
        assert!(erased > 29 * 8, "{erased}");
    }
}
