//! Every rule against an independent look at all full blocks.
