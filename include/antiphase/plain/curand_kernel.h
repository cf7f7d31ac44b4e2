// SPDX-License-Identifier: Apache-2.0
// Says what `antiphase check` does not follow.
#error antiphase check does not follow cuRAND: use a few lines of integer arithmetic, or numbers made by the host
