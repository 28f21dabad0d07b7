//! The experiment files themselves.

use super::super::study::settings_of;
use super::experiment::Experiment;
use crate::inputs::Inputs;
use flashyard_sim::own::OwnParts;
