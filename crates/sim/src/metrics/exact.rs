//! Energies without rounding, and their shares of time.

/// A MiB in bytes is 1 shifted by so many bits; powers by the MiB are exact in microwatts times so
/// many bytes.
pub const MIB_BITS: u32 = 20;

/// Energy or power: what is exact in femtojoules (microwatts), and that of the DRAM and of the
/// write buffer, which are exact in these times bytes of a MiB. Each is rounded by itself, as it is
/// in the sums of a run.
pub type Exact = [u128; 3];

/// Whole picojoules of an energy.
pub(super) fn picojoules([fj, dram, buffer]: Exact) -> u128 {
    let of_memory = |fj_mib: u128| (fj_mib >> MIB_BITS) / 1_000;
    fj / 1_000 + of_memory(dram) + of_memory(buffer)
}

/// Adds an energy; what does not fit is refused when the run is reported.
pub(super) fn add(sum: &mut Exact, energy: Exact) {
    for (sum, energy) in sum.iter_mut().zip(energy) {
        *sum = sum.saturating_add(energy);
    }
}

/// Spreads an energy that was taken evenly between two instants over spans of this width: each gets
/// its share by time, and together they get all of it. `give` is told the number of each span and
/// its share in femtojoules.
pub(super) fn spread(
    (from, until): (u64, u64),
    width: u64,
    pj: u128,
    mut give: impl FnMut(u64, u128),
) {
    let fj = pj * 1_000;
    let (mut at, mut given) = (from, 0);
    loop {
        let number = at / width;
        let end = until.min((number + 1) * width);
        if end == until {
            return give(number, fj - given);
        }
        let share = fj * u128::from(end - from) / u128::from(until - from);
        give(number, share - given);
        (at, given) = (end, share);
    }
}
