/** Where the parameter sets of an access unit lie. Source: ITU-T H.264, 7.4.1, and H.265, 7.4.2.2. */
import { h264 } from './h264-stream.ts';
import { h265 } from './h265-stream.ts';
import { nextNalUnit } from './nal-units.ts';

const syntaxes = { h264, h265 };
export type CodedFormat = keyof typeof syntaxes;

const startCodeBytes = 3;

/** From the first parameter set to the end of the last one, wherever they are, a view; empty: there is none. */
export function parameterSpan(format: CodedFormat, bytes: Uint8Array): Uint8Array {
  const syntax = syntaxes[format];
  let from = -1;
  let to = 0;
  for (let at = nextNalUnit(bytes, 0); at !== -1;) {
    const next = nextNalUnit(bytes, at);
    const kind = syntax.kindOf(bytes, at);
    if (kind === 'sequence' || kind === 'parameters') {
      if (from === -1) from = at;
      to = next === -1 ? bytes.length : next - startCodeBytes;
    }
    at = next;
  }
  return from === -1 ? bytes.subarray(0, 0) : bytes.subarray(from, to);
}
