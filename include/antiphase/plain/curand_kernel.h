// SPDX-License-Identifier: Apache-2.0
// Refuses a library that `antiphase check` does not support.
#error antiphase check does not follow cuRAND: use a few lines of integer arithmetic, or numbers made by the host
