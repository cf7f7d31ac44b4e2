// SPDX-License-Identifier: Apache-2.0
// The wgmma instructions with their lists of registers.
// Written by scripts/generate/wgmma_instructions.py; change that.
#pragma once
#include <antiphase/core/portable.hpp>
#include <cstdint>

// clang-format off
#if AP_ON_GPU
namespace antiphase {
inline namespace AP_TARGET {

#define AP_TEXT_8 "%0, %1, %2, %3"
#define AP_SUM_8 "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
#define AP_TEXT_16 AP_TEXT_8 ", %4, %5, %6, %7"
#define AP_SUM_16 AP_SUM_8, "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7])
#define AP_TEXT_24 AP_TEXT_16 ", %8, %9, %10, %11"
#define AP_SUM_24 AP_SUM_16, "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11])
#define AP_TEXT_32 AP_TEXT_24 ", %12, %13, %14, %15"
#define AP_SUM_32 AP_SUM_24, "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15])
#define AP_TEXT_40 AP_TEXT_32 ", %16, %17, %18, %19"
#define AP_SUM_40 AP_SUM_32, "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19])
#define AP_TEXT_48 AP_TEXT_40 ", %20, %21, %22, %23"
#define AP_SUM_48 AP_SUM_40, "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23])
#define AP_TEXT_56 AP_TEXT_48 ", %24, %25, %26, %27"
#define AP_SUM_56 AP_SUM_48, "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27])
#define AP_TEXT_64 AP_TEXT_56 ", %28, %29, %30, %31"
#define AP_SUM_64 AP_SUM_56, "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31])
#define AP_TEXT_72 AP_TEXT_64 ", %32, %33, %34, %35"
#define AP_SUM_72 AP_SUM_64, "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]), "+f"(sum[35])
#define AP_TEXT_80 AP_TEXT_72 ", %36, %37, %38, %39"
#define AP_SUM_80 AP_SUM_72, "+f"(sum[36]), "+f"(sum[37]), "+f"(sum[38]), "+f"(sum[39])
#define AP_TEXT_88 AP_TEXT_80 ", %40, %41, %42, %43"
#define AP_SUM_88 AP_SUM_80, "+f"(sum[40]), "+f"(sum[41]), "+f"(sum[42]), "+f"(sum[43])
#define AP_TEXT_96 AP_TEXT_88 ", %44, %45, %46, %47"
#define AP_SUM_96 AP_SUM_88, "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47])
#define AP_TEXT_104 AP_TEXT_96 ", %48, %49, %50, %51"
#define AP_SUM_104 AP_SUM_96, "+f"(sum[48]), "+f"(sum[49]), "+f"(sum[50]), "+f"(sum[51])
#define AP_TEXT_112 AP_TEXT_104 ", %52, %53, %54, %55"
#define AP_SUM_112 AP_SUM_104, "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]), "+f"(sum[55])
#define AP_TEXT_120 AP_TEXT_112 ", %56, %57, %58, %59"
#define AP_SUM_120 AP_SUM_112, "+f"(sum[56]), "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59])
#define AP_TEXT_128 AP_TEXT_120 ", %60, %61, %62, %63"
#define AP_SUM_128 AP_SUM_120, "+f"(sum[60]), "+f"(sum[61]), "+f"(sum[62]), "+f"(sum[63])
#define AP_TEXT_136 AP_TEXT_128 ", %64, %65, %66, %67"
#define AP_SUM_136 AP_SUM_128, "+f"(sum[64]), "+f"(sum[65]), "+f"(sum[66]), "+f"(sum[67])
#define AP_TEXT_144 AP_TEXT_136 ", %68, %69, %70, %71"
#define AP_SUM_144 AP_SUM_136, "+f"(sum[68]), "+f"(sum[69]), "+f"(sum[70]), "+f"(sum[71])
#define AP_TEXT_152 AP_TEXT_144 ", %72, %73, %74, %75"
#define AP_SUM_152 AP_SUM_144, "+f"(sum[72]), "+f"(sum[73]), "+f"(sum[74]), "+f"(sum[75])
#define AP_TEXT_160 AP_TEXT_152 ", %76, %77, %78, %79"
#define AP_SUM_160 AP_SUM_152, "+f"(sum[76]), "+f"(sum[77]), "+f"(sum[78]), "+f"(sum[79])
#define AP_TEXT_168 AP_TEXT_160 ", %80, %81, %82, %83"
#define AP_SUM_168 AP_SUM_160, "+f"(sum[80]), "+f"(sum[81]), "+f"(sum[82]), "+f"(sum[83])
#define AP_TEXT_176 AP_TEXT_168 ", %84, %85, %86, %87"
#define AP_SUM_176 AP_SUM_168, "+f"(sum[84]), "+f"(sum[85]), "+f"(sum[86]), "+f"(sum[87])
#define AP_TEXT_184 AP_TEXT_176 ", %88, %89, %90, %91"
#define AP_SUM_184 AP_SUM_176, "+f"(sum[88]), "+f"(sum[89]), "+f"(sum[90]), "+f"(sum[91])
#define AP_TEXT_192 AP_TEXT_184 ", %92, %93, %94, %95"
#define AP_SUM_192 AP_SUM_184, "+f"(sum[92]), "+f"(sum[93]), "+f"(sum[94]), "+f"(sum[95])
#define AP_TEXT_200 AP_TEXT_192 ", %96, %97, %98, %99"
#define AP_SUM_200 AP_SUM_192, "+f"(sum[96]), "+f"(sum[97]), "+f"(sum[98]), "+f"(sum[99])
#define AP_TEXT_208 AP_TEXT_200 ", %100, %101, %102, %103"
#define AP_SUM_208 AP_SUM_200, "+f"(sum[100]), "+f"(sum[101]), "+f"(sum[102]), "+f"(sum[103])
#define AP_TEXT_216 AP_TEXT_208 ", %104, %105, %106, %107"
#define AP_SUM_216 AP_SUM_208, "+f"(sum[104]), "+f"(sum[105]), "+f"(sum[106]), "+f"(sum[107])
#define AP_TEXT_224 AP_TEXT_216 ", %108, %109, %110, %111"
#define AP_SUM_224 AP_SUM_216, "+f"(sum[108]), "+f"(sum[109]), "+f"(sum[110]), "+f"(sum[111])
#define AP_TEXT_232 AP_TEXT_224 ", %112, %113, %114, %115"
#define AP_SUM_232 AP_SUM_224, "+f"(sum[112]), "+f"(sum[113]), "+f"(sum[114]), "+f"(sum[115])
#define AP_TEXT_240 AP_TEXT_232 ", %116, %117, %118, %119"
#define AP_SUM_240 AP_SUM_232, "+f"(sum[116]), "+f"(sum[117]), "+f"(sum[118]), "+f"(sum[119])
#define AP_TEXT_248 AP_TEXT_240 ", %120, %121, %122, %123"
#define AP_SUM_248 AP_SUM_240, "+f"(sum[120]), "+f"(sum[121]), "+f"(sum[122]), "+f"(sum[123])
#define AP_TEXT_256 AP_TEXT_248 ", %124, %125, %126, %127"
#define AP_SUM_256 AP_SUM_248, "+f"(sum[124]), "+f"(sum[125]), "+f"(sum[126]), "+f"(sum[127])
#define AP_WGMMA(name, type, n, a_at, b_at, if_at, ta_at, tb_at) \
  template <int TransposedA, int TransposedB> \
  AP_DEV void name(float (&sum)[n / 2], std::uint64_t a, std::uint64_t b, bool accumulate) { \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, " if_at ", 0; wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type \
                 " {" AP_TEXT_##n "}, " a_at ", " b_at ", p, 1, 1, " ta_at ", " tb_at "; }" \
                 : AP_SUM_##n \
                 : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)), "n"(TransposedA), "n"(TransposedB)); \
  }
#define AP_WGMMA_OF_REGISTERS(name, type, n, a0, a1, a2, a3, b_at, if_at, tb_at) \
  template <int TransposedB> \
  AP_DEV void name(float (&sum)[n / 2], const std::uint32_t (&a)[4], std::uint64_t b, bool accumulate) { \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, " if_at ", 0; wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type \
                 " {" AP_TEXT_##n "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b_at ", p, 1, 1, " tb_at "; }" \
                 : AP_SUM_##n \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)), "n"(TransposedB)); \
  }
#define AP_WGMMA_ROW(n, p0, p1, p2, p3, p4, p5, p6) \
  AP_WGMMA(wgmma_instruction, "f16", n, p0, p1, p2, p3, p4) \
  AP_WGMMA(wgmma_bf16_instruction, "bf16", n, p0, p1, p2, p3, p4) \
  AP_WGMMA_OF_REGISTERS(wgmma_instruction, "f16", n, p0, p1, p2, p3, p4, p5, p6) \
  AP_WGMMA_OF_REGISTERS(wgmma_bf16_instruction, "bf16", n, p0, p1, p2, p3, p4, p5, p6)
AP_WGMMA_ROW(8, "%4", "%5", "%6", "%7", "%8", "%9", "%10")
AP_WGMMA_ROW(16, "%8", "%9", "%10", "%11", "%12", "%13", "%14")
AP_WGMMA_ROW(24, "%12", "%13", "%14", "%15", "%16", "%17", "%18")
AP_WGMMA_ROW(32, "%16", "%17", "%18", "%19", "%20", "%21", "%22")
AP_WGMMA_ROW(40, "%20", "%21", "%22", "%23", "%24", "%25", "%26")
AP_WGMMA_ROW(48, "%24", "%25", "%26", "%27", "%28", "%29", "%30")
AP_WGMMA_ROW(56, "%28", "%29", "%30", "%31", "%32", "%33", "%34")
AP_WGMMA_ROW(64, "%32", "%33", "%34", "%35", "%36", "%37", "%38")
AP_WGMMA_ROW(72, "%36", "%37", "%38", "%39", "%40", "%41", "%42")
AP_WGMMA_ROW(80, "%40", "%41", "%42", "%43", "%44", "%45", "%46")
AP_WGMMA_ROW(88, "%44", "%45", "%46", "%47", "%48", "%49", "%50")
AP_WGMMA_ROW(96, "%48", "%49", "%50", "%51", "%52", "%53", "%54")
AP_WGMMA_ROW(104, "%52", "%53", "%54", "%55", "%56", "%57", "%58")
AP_WGMMA_ROW(112, "%56", "%57", "%58", "%59", "%60", "%61", "%62")
AP_WGMMA_ROW(120, "%60", "%61", "%62", "%63", "%64", "%65", "%66")
AP_WGMMA_ROW(128, "%64", "%65", "%66", "%67", "%68", "%69", "%70")
AP_WGMMA_ROW(136, "%68", "%69", "%70", "%71", "%72", "%73", "%74")
AP_WGMMA_ROW(144, "%72", "%73", "%74", "%75", "%76", "%77", "%78")
AP_WGMMA_ROW(152, "%76", "%77", "%78", "%79", "%80", "%81", "%82")
AP_WGMMA_ROW(160, "%80", "%81", "%82", "%83", "%84", "%85", "%86")
AP_WGMMA_ROW(168, "%84", "%85", "%86", "%87", "%88", "%89", "%90")
AP_WGMMA_ROW(176, "%88", "%89", "%90", "%91", "%92", "%93", "%94")
AP_WGMMA_ROW(184, "%92", "%93", "%94", "%95", "%96", "%97", "%98")
AP_WGMMA_ROW(192, "%96", "%97", "%98", "%99", "%100", "%101", "%102")
AP_WGMMA_ROW(200, "%100", "%101", "%102", "%103", "%104", "%105", "%106")
AP_WGMMA_ROW(208, "%104", "%105", "%106", "%107", "%108", "%109", "%110")
AP_WGMMA_ROW(216, "%108", "%109", "%110", "%111", "%112", "%113", "%114")
AP_WGMMA_ROW(224, "%112", "%113", "%114", "%115", "%116", "%117", "%118")
AP_WGMMA_ROW(232, "%116", "%117", "%118", "%119", "%120", "%121", "%122")
AP_WGMMA_ROW(240, "%120", "%121", "%122", "%123", "%124", "%125", "%126")
AP_WGMMA_ROW(248, "%124", "%125", "%126", "%127", "%128", "%129", "%130")
AP_WGMMA_ROW(256, "%128", "%129", "%130", "%131", "%132", "%133", "%134")
#undef AP_WGMMA
#undef AP_WGMMA_OF_REGISTERS
#undef AP_WGMMA_ROW

}  // namespace AP_TARGET
}  // namespace antiphase
#endif
