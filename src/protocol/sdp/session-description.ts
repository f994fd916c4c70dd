/**
 * A session description as lines: what stands before the media sections, and each of these with its attributes. What the
 * attributes mean is read elsewhere. Source: RFC 8866, 5 and 9.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';

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

/** The error says what is wrong with it. `text`: bounded by the caller. */
export function parseSessionDescription(
  text: string,
  sectionsMax: number,
): Result<SessionDescription, string> {
  const lines = text.split(/\r\n|\n|\r/).filter((line) => line !== '');
  if (lines[0] !== 'v=0') return fail('it begins with v=0');
  const attributes = new Map<string, string[]>();
  const sections: SdpSection[] = [];
  let current = attributes;
  for (const line of lines) {
    if (!/^[a-z]=/.test(line)) return fail('each line is a letter, = and a value');
    const value = line.slice(2);
    if (line.startsWith('m=')) {
      if (sections.length === sectionsMax) return fail(`it has at most ${sectionsMax} media sections`);
      current = new Map();
      const section = parseMediaLine(value, current);
      if (section === null) return fail('a media line is a kind, a port, a protocol and formats');
      sections.push(section);
    } else if (line.startsWith('a=')) addAttribute(current, value);
  }
  return succeed({ attributes, sections });
}

function parseMediaLine(value: string, attributes: SdpAttributes): SdpSection | null {
  const [kind = '', port = '', protocol = '', ...formats] = value.split(' ');
  if (!/^[a-z]+$/.test(kind) || !/^\d{1,5}$/.test(port) || formats.length === 0) return null;
  return { kind, port: Number(port), protocol, formats, attributes };
}

function addAttribute(attributes: Map<string, string[]>, text: string): void {
  const colon = text.indexOf(':');
  const name = colon === -1 ? text : text.slice(0, colon);
  const value = colon === -1 ? '' : text.slice(colon + 1);
  const values = attributes.get(name);
  if (values === undefined) attributes.set(name, [value]);
  else values.push(value);
}

/** The first value; null: there is no such attribute. */
export function attributeOf(attributes: SdpAttributes, name: string): string | null {
  return attributes.get(name)?.[0] ?? null;
}
