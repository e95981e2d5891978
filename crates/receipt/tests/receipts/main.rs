//! Receipts of every kind hold, and no altered one does: neither one that somebody altered, nor one that the hub itself did.
mod alter;
mod altered;
mod cases;
mod chain;
mod filed;
mod fuzz;
mod hostile;
mod lies;
mod owners;
