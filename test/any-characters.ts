/** Texts of any code points, half surrogates among them. The unit `binary` of fast-check takes two seconds to be made. */
import * as fc from 'fast-check'

export const anyCharacters = (maxLength?: number): fc.Arbitrary<string> =>
  fc.string({
    unit: fc.nat(0x10ffff).map((code) => String.fromCodePoint(code)),
    ...(maxLength !== undefined && { maxLength }),
  })
