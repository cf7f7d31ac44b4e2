// The ladders of GEMM and scan, for callers who run, measure or show single steps.
#pragma once
#include <antiphase/gemm/half_ladder.hpp>
#include <antiphase/gemm/ladder.hpp>
#include <antiphase/gemm/policies.hpp>
#include <antiphase/scan/ladder.hpp>
#include <antiphase/scan/short_lines.hpp>
