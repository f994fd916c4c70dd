/**
 * What a push says, as JSON or as flat XML, whichever the platform's console is set to: the envelope around what is
 * encrypted, and the message `join_voip_room` in it. Names on the left of a colon are ours, those in quotes theirs.
 */

/** A phone stands in a room and waits for a device. The key and the token are secrets. */
export interface IncomingCall {
  readonly roomId: string;
  readonly sessionKey: string;
  readonly serverToken: string;
  /** The caller's own words, passed through; empty: none. */
  readonly payload: string;
  readonly modelId: string;
  readonly deviceId: string;
}

/** A message that is good and says something else: `event` is its name, for the log. */
export interface OtherMessage {
  readonly event: string;
}

type Fields = ReadonlyMap<string, string>;

/** What is encrypted; null: this is no push of the secure mode. */
export function readEnvelope(body: string): string | null {
  return readFields(body)?.get('Encrypt') ?? null;
}

/** Null: neither JSON nor XML, or a `join_voip_room` without what it needs. */
export function readMessage(text: string): IncomingCall | OtherMessage | null {
  const fields = readFields(text);
  if (fields === null) return null;
  const event = fields.get('Event') ?? '';
  if (event !== 'iot_voip_notify' || fields.get('Action') !== 'join_voip_room') return { event };
  const needed = (name: string): string => fields.get(name) ?? '';
  const call = {
    roomId: needed('RoomId'),
    sessionKey: needed('SessionKey'),
    serverToken: needed('ServerToken'),
    modelId: needed('ModelId'),
    deviceId: needed('Sn'),
  };
  return Object.values(call).includes('') ? null : { ...call, payload: needed('Payload') };
}

function readFields(text: string): Fields | null {
  const trimmed = text.trim();
  return trimmed.startsWith('<') ? readXml(trimmed) : readJson(trimmed);
}

function readJson(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return new Map(Object.entries(value).filter(isText));
  } catch {
    return null;
  }
}

function isText(field: [string, unknown]): field is [string, string] {
  return typeof field[1] === 'string';
}

const opening = /\s*<([A-Za-z][A-Za-z0-9_]*)>\s*/y;
const cdata = { start: '<![CDATA[', end: ']]>' };

interface XmlElement {
  readonly name: string;
  /** Null: it has elements of its own, which nothing here needs. */
  readonly text: string | null;
  /** Where the next one may begin. */
  readonly end: number;
}

/** One level of elements under `<xml>`. Every step goes forward, so that a hostile text costs its length once. */
function readXml(text: string): Fields | null {
  if (!text.startsWith('<xml>') || !text.endsWith('</xml>')) return null;
  const inner = text.slice('<xml>'.length, -'</xml>'.length).trimEnd();
  const fields = new Map<string, string>();
  for (let place = 0; place < inner.length;) {
    const element = readElement(inner, place);
    if (element === null) return null;
    if (element.text !== null) fields.set(element.name, element.text);
    place = element.end;
  }
  return fields;
}

function readElement(text: string, place: number): XmlElement | null {
  opening.lastIndex = place;
  const name = opening.exec(text)?.[1];
  if (name === undefined) return null;
  const start = opening.lastIndex;
  const closing = `</${name}>`;
  if (text.startsWith(cdata.start, start)) {
    const end = text.indexOf(cdata.end, start);
    if (end === -1 || !text.startsWith(closing, end + cdata.end.length)) return null;
    const content = text.slice(start + cdata.start.length, end);
    return { name, text: content, end: end + cdata.end.length + closing.length };
  }
  const end = text.indexOf(closing, start);
  if (end === -1) return null;
  const content = text.slice(start, end);
  return { name, text: content.includes('<') ? null : unescaped(content), end: end + closing.length };
}

const entities: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
  '&amp;': '&',
};

function unescaped(text: string): string {
  return text.replace(/&(?:lt|gt|quot|apos|amp);/g, (entity) => entities[entity] ?? entity);
}
