/**
 * Fields and query keys of this server's own endpoints, and the refusal of a name that is clearly a mistake: one edit from a
 * name of the request, or a name of another request. Other unknown names are ignored; the four requests of the source ignore all
 * of them. Source: docs/openapi.yaml; decisions.md, HTTP.
 */

/** By the route's name; `added-device` is an entry of `devices-add`. A request has either a body or a query. */
export const requestFields = {
  'connectivity-batch': ['device_ids'],
  'wakeup-outcome': ['request_id', 'device_id', 'wait'],
  message: ['device_id', 'name', 'payload', 'wake', 'wait'],
  events: ['after', 'limit', 'wait'],
  'call-end': ['device_id', 'session', 'msg_room_id', 'reason'],
  'devices-list': ['product_id', 'prefix', 'online', 'after', 'limit'],
  'devices-add': ['devices'],
  'added-device': ['device_id', 'product_id', 'secret', 'expires_at', 'disabled', 'labels'],
  'device-change': ['device_id', 'secret', 'expires_at', 'disabled', 'labels'],
  'device-remove': ['device_id'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type StrictRequest = keyof typeof requestFields;

/** Fields of any request. `custom_data` belongs to wakeups only: a waking message does not support it. */
const fieldsOfAll: ReadonlySet<string> = new Set([...Object.values(requestFields).flat(), 'custom_data']);

/** The first clear mistake, in words for the caller; null: none. */
export function findMistakenField(
  request: StrictRequest,
  given: Iterable<string>,
  noun: 'field' | 'key' = 'field',
): string | null {
  const fields: readonly string[] = requestFields[request];
  for (const name of given) {
    if (fields.includes(name)) continue;
    const meant = fields.find((field) => isOneEdit(name, field));
    if (meant !== undefined) return `unknown ${noun} ${JSON.stringify(name)}; did you mean ${meant}?`;
    if (fieldsOfAll.has(name))
      return `${name} cannot be set in this request; its ${noun}s are ${fields.join(', ')}`;
  }
  return null;
}

/** Case-insensitive: one character added, dropped or changed, or two neighbours swapped. */
function isOneEdit(given: string, field: string): boolean {
  if (Math.abs(given.length - field.length) > 1) return false;
  const from = given.toLowerCase();
  let start = 0;
  while (start < field.length && from[start] === field[start]) start += 1;
  let [fromEnd, fieldEnd] = [from.length, field.length];
  while (Math.min(fromEnd, fieldEnd) > start && from[fromEnd - 1] === field[fieldEnd - 1]) {
    fromEnd -= 1;
    fieldEnd -= 1;
  }
  const [one, other] = [from.slice(start, fromEnd), field.slice(start, fieldEnd)];
  if (one.length === 2) return one === `${other[1]}${other[0]}`;
  return one.length < 2 && other.length < 2;
}
