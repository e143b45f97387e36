//! What YuniKorn's own tests of gangs assert, where no other test shows it here. The table of all of them is in `tests/peers/yunikorn`.

mod end_to_end;
mod objects;
mod partition;
mod shim;
