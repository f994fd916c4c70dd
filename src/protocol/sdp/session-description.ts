/**
 * Parses a session description into lines: those before the media sections, and each section with its attributes. Attributes are
 * interpreted elsewhere. One pass, bounded before any work. Source: RFC 8866, 5 and 9.
 */
import { fail, succeed, type Result } from '../../lib/result.ts';
import { showable } from '../../lib/showable-text.ts';
import { sdpFormatsMax, sdpSectionsMax } from '../../model/media/sdp-limits.ts';

/** Each limit is far above the offers of browsers (200 lines and 30 formats in a section) and encoders. */
const linesMax = 4096;
const lineCharactersMax = 16_384;
/** Characters of a line quoted in a refusal; the rest is cut. */
const shownCharactersMax = 80;
/** Per media section, or before the first; the total is bounded by the lines. */
const attributesMax = 2048;
/** Repetitions of one attribute, per media section or before the first. */
const repeatsMax: ReadonlyMap<string, number> = new Map([
  ['candidate', 512],
  ['extmap', 256],
  ['fingerprint', 64],
  ['fmtp', 256],
  ['group', 64],
  ['rtcp-fb', 1536],
  ['rtpmap', 256],
  ['ssrc', 1024],
  ['ssrc-group', 256],
]);

export interface SdpLine {
  /** From 1; empty lines count. */
  readonly number: number;
  readonly text: string;
}

export interface SdpAttribute extends SdpLine {
  /** Empty: a flag. */
  readonly value: string;
}

export interface SdpSection {
  readonly line: SdpLine;
  /** `audio`, `video`, `application` and others. */
  readonly kind: string;
  readonly port: number;
  readonly protocol: string;
  readonly formats: readonly string[];
  readonly attributes: SdpAttributes;
}

/** By name, in their order. */
export type SdpAttributes = ReadonlyMap<string, readonly SdpAttribute[]>;

export interface SessionDescription {
  readonly attributes: SdpAttributes;
  readonly sections: readonly SdpSection[];
}

type LineRefusal = ReturnType<typeof fail<string>>;

/** The grammar of `token`. Source: RFC 8866, 9. */
export const tokenForm = /^[!#-'*+\-.0-9A-Z^-~]+$/;
const portForm = /^(\d{1,5})(?:\/\d{1,5})?$/;

/** Line types, each with the form of its value and that form in words. Source: RFC 8866, 5. */
const lineForms: ReadonlyMap<string, readonly [RegExp, string]> = new Map<string, readonly [RegExp, string]>([
  ['v', [/^0$/, 'the version is 0']],
  ['o', [/^\S+ \S+ \S+ IN IP[46] \S+$/, 'an origin is a name, two numbers, IN, IP4 or IP6, and an address']],
  ['c', [/^IN IP[46] \S+$/, 'a connection is IN, IP4 or IP6, and an address']],
  ['b', [/^[\w-]+:\d+$/, 'a bandwidth is a name, a colon and a number']],
  ['t', [/^\d+ \d+$/, 'a time is two numbers']],
  ...'siueprzkam'.split('').map((letter) => [letter, [/^/, '']] as const),
]);

/** The error quotes the line. */
export function refuseLine({ number, text }: SdpLine, sentence: string): LineRefusal {
  const cut = text.length > shownCharactersMax ? '...' : '';
  return fail(`line ${number}, ${showable(text.slice(0, shownCharactersMax))}${cut}: ${sentence}`);
}

/** Non-empty lines, trimmed. The error names the exceeded limit. */
export function splitLines(text: string, countMax: number): Result<readonly SdpLine[], string> {
  // Bounds the split: empty lines count too.
  const lines = text.split(/\r\n|\n|\r/, countMax + 2);
  if (lines.length > countMax + 1) return fail(`line ${countMax + 1}: it has at most ${countMax} lines`);
  const numbered = lines.map((line, index) => ({ number: index + 1, text: line }));
  const long = numbered.find((line) => line.text.length > lineCharactersMax);
  if (long !== undefined) return refuseLine(long, `a line has at most ${lineCharactersMax} characters`);
  return succeed(
    numbered
      .map((line) => ({ number: line.number, text: line.text.trimEnd() }))
      .filter((line) => line.text !== ''),
  );
}

/** `text`: bounded by the caller. */
export function parseSessionDescription(text: string): Result<SessionDescription, string> {
  const lines = splitLines(text, linesMax);
  if (!lines.ok) return lines;
  const [first = { number: 1, text: '' }] = lines.value;
  if (first.text !== 'v=0') return refuseLine(first, 'a session description begins with v=0');
  const session = new AttributeList();
  const sections: SdpSection[] = [];
  let current = session;
  for (const line of lines.value) {
    const [letter = '', equals] = line.text;
    const form = lineForms.get(letter);
    if (form === undefined || equals !== '=')
      return refuseLine(
        line,
        `a line is one of the letters ${[...lineForms.keys()].join('')}, = and a value`,
      );
    if (!form[0].test(line.text.slice(2))) return refuseLine(line, form[1]);
    if (letter === 'm') {
      if (sections.length === sdpSectionsMax)
        return refuseLine(line, `a session description has at most ${sdpSectionsMax} media sections`);
      current = new AttributeList();
      const section = parseMediaLine(line, current.attributes);
      if (!section.ok) return section;
      sections.push(section.value);
    } else if (letter === 'a') {
      const fault = current.add(line);
      if (fault !== null) return refuseLine(line, fault);
    }
  }
  return succeed({ attributes: session.attributes, sections });
}

function parseMediaLine(line: SdpLine, attributes: SdpAttributes): Result<SdpSection, string> {
  const fields = line.text.slice(2).split(/ +/, 3 + sdpFormatsMax + 1);
  const [kind = '', port = '', protocol = '', ...formats] = fields;
  const number = Number(portForm.exec(port)?.[1] ?? NaN);
  const tokens = [kind, ...protocol.split('/'), ...formats];
  if (formats.length === 0 || !(number <= 65_535) || !tokens.every((token) => tokenForm.test(token)))
    return refuseLine(line, 'a media line is a kind, a port, a protocol and formats');
  if (formats.length > sdpFormatsMax)
    return refuseLine(line, `a media section has at most ${sdpFormatsMax} formats`);
  return succeed({ line, kind, port: number, protocol, formats, attributes });
}

/** The attributes of one media section, or those before the first. */
class AttributeList {
  readonly attributes = new Map<string, SdpAttribute[]>();
  #count = 0;

  /** Null: added. Else the exceeded limit, in a sentence. */
  add({ number, text }: SdpLine): string | null {
    const colon = text.indexOf(':');
    const name = colon === -1 ? text.slice(2) : text.slice(2, colon);
    const attribute = { number, text, value: colon === -1 ? '' : text.slice(colon + 1) };
    this.#count += 1;
    if (this.#count > attributesMax) return `a media section has at most ${attributesMax} attributes`;
    const attributes = this.attributes.get(name);
    if (attributes === undefined) this.attributes.set(name, [attribute]);
    else attributes.push(attribute);
    const max = repeatsMax.get(name) ?? Infinity;
    return (attributes?.length ?? 1) > max ? `a media section has at most ${max} of a=${name}` : null;
  }
}

/** The attributes of a name from the first level that has them: a media section overrides the session. Source: RFC 8866, 5. */
export function attributesOf(levels: readonly SdpAttributes[], name: string): readonly SdpAttribute[] {
  return levels.find((attributes) => attributes.has(name))?.get(name) ?? [];
}

export function valueOf(levels: readonly SdpAttributes[], name: string): string | null {
  return attributesOf(levels, name)[0]?.value ?? null;
}
