// Both executors with their options, for callers who want more than context::on() offers.
#pragma once
#include <antiphase/executor/cpu/cpu_executor.hpp>
#include <antiphase/executor/cuda/cuda_executor.hpp>
