// SPDX-License-Identifier: Apache-2.0
// In place of others.cpp, in the build of ./run demo.
#include "tool/program/command.hpp"

void antiphase::tool::add_others(arguments) {}
