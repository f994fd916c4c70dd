import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ByteWindow, fileSha256 } from '../../../../src/storage/events/byte-window.ts';
import {
  readDocument,
  readLines,
  describePlace,
  detectForm,
  type RegistryItem,
} from '../../../../src/storage/registry/registry-text.ts';
import { sampleLines, sampleRegistry } from '../../../support/registry-entries.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

const directory = temporaryDirectory({ after });

function readItems(
  name: string,
  content: string | Uint8Array,
  windowBytes?: number,
): RegistryItem[] | string {
  const path = join(directory, name);
  writeFileSync(path, content);
  const window = new ByteWindow(path, windowBytes);
  try {
    const form = detectForm(window, path);
    if (typeof form === 'object') return form.reason;
    return Array.from(form === 'ndjson' ? readLines(window) : readDocument(window));
  } finally {
    window.close();
  }
}

/** The result in a comparable form: the entries, then the error, if any. */
function summary(items: RegistryItem[] | string): string[] {
  if (typeof items === 'string') return [items];
  return items.map((item) =>
    item.ok
      ? `${describePlace(item.where)} ${item.kind} ${JSON.stringify(item.json)}`
      : `${item.where}: ${item.reason}`,
  );
}

const strange = {
  applications: [{ app_id: 'br{ace', name: 'quote " backslash \\ ] } [ { , é 😀' }],
  devices: [{ device_id: 'nested', deep: { a: [{ b: '}' }] } }],
};

for (const [what, registry] of Object.entries({ sample: sampleRegistry, strange })) {
  const text = ` ${JSON.stringify(registry, null, 1)}\n`;
  const longest = Math.max(
    ...Object.values(registry)
      .flat()
      .map((entry) => Buffer.byteLength(JSON.stringify(entry, null, 1))),
  );
  test(`the ${what} document is read equally through every size of window`, () => {
    const whole = summary(readItems('r.json', text));
    assert.equal(whole.length, Object.values(registry).flat().length);
    // An entry indented in its list is longer than alone.
    for (let size = longest * 2; size < text.length + 2; size++)
      assert.deepEqual(summary(readItems('r.json', text, size)), whole, `window of ${size}`);
  });
}

test('lines are read equally through every size of window, with and without a final line feed', () => {
  for (const end of ['', '\n', '\r\n\n  \n']) {
    const lines = sampleLines({ tagged: false });
    const text = lines.join('\n') + end;
    const whole = summary(readItems('r.ndjson', text));
    assert.equal(whole.length, lines.length);
    for (let size = Math.max(...lines.map((line) => line.length)) + 2; size < text.length + 2; size++)
      assert.deepEqual(summary(readItems('r.ndjson', text, size)), whole, `window of ${size}`);
  }
});

function kindsOf(lines: string[]): string[] {
  return Array.from(readItems('r.ndjson', lines.join('\n')) as RegistryItem[], (item) =>
    item.ok ? item.kind : item.reason,
  );
}

test('a line names its kind, or its id field implies it', () => {
  const kinds = ['application', 'product', 'credential', 'device', 'device', 'webhook', 'bridge'];
  assert.deepEqual(kindsOf(sampleLines({ tagged: true })), kinds);
  assert.deepEqual(kindsOf(sampleLines({ tagged: false })), kinds);
});

test('the first key determines the form, whatever the name of the file', () => {
  const document = JSON.stringify(sampleRegistry);
  for (const name of ['r.json', 'r.ndjson', 'r']) assert.equal(readItems(name, document).length, 7);
  const lines = sampleLines({ tagged: true }).join('\n');
  for (const name of ['r.json', 'r.ndjson', 'r']) assert.equal(readItems(name, lines).length, 7);
});

test('an empty document and one after a byte order mark are read', () => {
  for (const text of ['{}', ' {\n} ', '\ufeff{}', '{"devices":[]}', '{ "devices" : [ ] , "products" : [ ] }'])
    assert.deepEqual(readItems('r.json', text), [], text);
});

const refused: readonly [string, string | Uint8Array, string][] = [
  ['r.json', '', 'is empty: an empty registry is written {}'],
  ['r.ndjson', ' \n', 'is empty: an empty registry is written {}'],
  ['r.json', Buffer.from('\ufeff{}', 'utf16le'), 'is UTF-16: save it as UTF-8'],
  ['r.json', '[]', 'starts with neither a JSON object nor a line of NDJSON'],
  ['r.json', '{"device":[]}', 'byte 10: "device" is not a list of a registry'],
  ['r.json', '{"devices":{}}', 'byte 11: devices must be a list'],
  ['r.json', '{"devices":[7]}', 'devices[0]: is not a JSON object'],
  ['r.json', '{"devices":[{}', 'byte 14: expected , or ] in devices'],
  ['r.json', '{"devices":[{"a":1]', 'devices[0]: does not end, or is longer than 65536 bytes'],
  ['r.json', '{"devices":[{"a":}]}', 'devices[0]: is not valid JSON'],
  ['r.json', '{"devices":[]', 'byte 13: expected , or } after a list'],
  ['r.json', '{"devices":[],}', 'byte 14: expected the name of a list'],
  ['r.json', '{"devices" []}', 'byte 11: expected : after the name of a list'],
  ['r.json', '{"devices":[]} {}', 'byte 15: has something behind the document'],
  ['r.json', Buffer.from('{"devices":[{"a":"\xff"}]}', 'latin1'), 'devices[0]: is not valid UTF-8'],
  ['r.ndjson', '{"kind":"devices"}', 'line 1: kind: is not a kind of registry entry'],
  ['r.ndjson', '{"colour":"red"}', 'line 1: has no kind, and no id field that implies one'],
  ['r.ndjson', '{"kind":"device"\n', 'line 1: is not valid JSON'],
  ['r.ndjson', `{"kind":"${'x'.repeat(70_000)}"}`, 'line 1: is longer than 65536 bytes'],
];
for (const [name, content, reason] of refused)
  test(`${name} that is ${JSON.stringify(content.toString()).slice(0, 40)} is refused: ${reason}`, () => {
    assert.equal(summary(readItems(name, content)).at(-1), reason);
  });

test('a line that is not an object is rejected with its number, and no later line is read', () => {
  const text = `{"app_id":"1","name":"n"}\n\n[1]\n{"app_id":"2","name":"n"}\n`;
  assert.deepEqual(summary(readItems('r.ndjson', text)).slice(1), ['line 3: is not a JSON object']);
});

test('the hash of a file read through a window is that of the file', () => {
  const path = join(directory, 'hashed');
  writeFileSync(path, 'a'.repeat(1000));
  const window = new ByteWindow(path, 64);
  while (window.more()) window.pass(window.bytes.length);
  assert.equal(window.sha256(), fileSha256(path));
  assert.equal(window.passed, 1000);
  window.close();
});
