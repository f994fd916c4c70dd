/**
 * A session description as lines: what stands before the media sections, and each of these with its attributes. What the
 * attributes mean is read elsewhere. One pass, whose counts are bounded before the work. Source: RFC 8866, 5 and 9.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import {
  sdpAttributesMax,
  sdpFormatsMax,
  sdpLineCharactersMax,
  sdpLinesMax,
  sdpRepeatsMax,
  sdpSectionsMax,
} from '../../model/media/sdp-limits.ts';

export interface SdpSection {
  /** `audio`, `video`, `application` and others. */
  readonly kind: string;
  readonly port: number;
  readonly protocol: string;
  readonly formats: readonly string[];
  readonly attributes: SdpAttributes;
}

/** By name, in their order; of a flag the value is empty. */
export type SdpAttributes = ReadonlyMap<string, readonly string[]>;

export interface SessionDescription {
  readonly attributes: SdpAttributes;
  readonly sections: readonly SdpSection[];
}

/** The lines that are not empty. The error names the limit that is exceeded. */
export function splitLines(text: string, linesMax: number): Result<readonly string[], string> {
  // Beyond the limit nothing more is split: an empty line counts, too.
  const lines = text.split(/\r\n|\n|\r/, linesMax + 2);
  if (lines.length > linesMax + 1) return fail(`it has at most ${linesMax} lines`);
  const long = lines.findIndex((line) => line.length > sdpLineCharactersMax);
  if (long !== -1) return fail(`a line has at most ${sdpLineCharactersMax} characters: line ${long + 1}`);
  return succeed(lines.filter((line) => line !== ''));
}

/** The error says what is wrong with it. `text`: bounded by the caller. */
export function parseSessionDescription(text: string): Result<SessionDescription, string> {
  const lines = splitLines(text, sdpLinesMax);
  if (!lines.ok) return lines;
  if (lines.value[0] !== 'v=0') return fail('it begins with v=0');
  const session = new AttributeList();
  const sections: SdpSection[] = [];
  let current = session;
  for (const line of lines.value) {
    if (!/^[a-z]=/.test(line)) return fail('each line is a letter, = and a value');
    const value = line.slice(2);
    if (line.startsWith('m=')) {
      if (sections.length === sdpSectionsMax) return fail(`it has at most ${sdpSectionsMax} media sections`);
      current = new AttributeList();
      const section = parseMediaLine(value, current.attributes);
      if (!section.ok) return section;
      sections.push(section.value);
    } else if (line.startsWith('a=')) {
      const fault = current.add(value);
      if (fault !== null) return fail(fault);
    }
  }
  return succeed({ attributes: session.attributes, sections });
}

function parseMediaLine(value: string, attributes: SdpAttributes): Result<SdpSection, string> {
  const [kind = '', port = '', protocol = '', ...formats] = value.split(' ', 3 + sdpFormatsMax + 1);
  if (!/^[a-z]+$/.test(kind) || !/^\d{1,5}$/.test(port) || formats.length === 0)
    return fail('a media line is a kind, a port, a protocol and formats');
  if (formats.length > sdpFormatsMax) return fail(`a media section has at most ${sdpFormatsMax} formats`);
  return succeed({ kind, port: Number(port), protocol, formats, attributes });
}

/** The attributes of one media section, or those before the first. */
class AttributeList {
  readonly attributes = new Map<string, string[]>();
  #count = 0;

  /** Null: it is added. Else the limit that it exceeds, in a sentence. */
  add(text: string): string | null {
    const colon = text.indexOf(':');
    const name = colon === -1 ? text : text.slice(0, colon);
    const value = colon === -1 ? '' : text.slice(colon + 1);
    this.#count += 1;
    if (this.#count > sdpAttributesMax) return `a media section has at most ${sdpAttributesMax} attributes`;
    const values = this.attributes.get(name);
    if (values === undefined) this.attributes.set(name, [value]);
    else values.push(value);
    const repeatsMax = sdpRepeatsMax.get(name) ?? Infinity;
    return (values?.length ?? 1) > repeatsMax
      ? `a media section has at most ${repeatsMax} of a=${name}`
      : null;
  }
}

/** The first value; null: there is no such attribute. */
export function attributeOf(attributes: SdpAttributes, name: string): string | null {
  return attributes.get(name)?.[0] ?? null;
}
