/** Runs the runnable examples of docs/, and compares them with golden values and with the output on the page. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { readBlocks } from '../support/document-blocks.ts';
import { readFromRoot } from '../support/checkout.ts';
import { signingVectors } from '../support/signing-vectors.ts';

const openssl = spawnSync('openssl', ['version']).status === 0;
const skip = openssl ? false : 'no openssl here';

/** The only fenced block of its kind on the page. */
function block(page: string, kind: 'sh' | 'text' | 'python' | 'js'): string {
  const [block, ...others] = readBlocks(page).filter(({ language }) => language === kind);
  assert.ok(block !== undefined && others.length === 0, `one block of ${kind}`);
  return block.text;
}

function run(page: string): string {
  const { status, stdout, stderr } = spawnSync('sh', ['-eu'], { input: block(page, 'sh'), encoding: 'utf8' });
  assert.deepEqual([status, stderr], [0, '']);
  return stdout.trimEnd();
}

test(
  'the example of docs/signing.md computes the first vector and prints what the page says',
  { skip },
  () => {
    const page = readFromRoot('docs/signing.md');
    const { vectors } = signingVectors;
    const [first] = vectors;
    assert(first !== undefined);
    const printed = run(page);
    assert.deepEqual(printed.split('\n\n'), [
      first.canonical_request,
      first.string_to_sign,
      first.signing_key_hex,
      first.headers['Authorization'],
    ]);
    assert.equal(printed, block(page, 'text'));
    assert.equal(vectors.length, 12, 'the page says how many there are');
  },
);

test(
  'the check of a webhook in docs/events.md accepts a genuine one, and neither a changed nor an old one',
  { skip: spawnSync('python3', ['--version']).status === 0 ? false : 'no python3 here' },
  () => {
    const secret = `whsec_${Buffer.from('the secret of a receiver').toString('base64')}`;
    const now = new Date();
    const check = (at: Date, body: string): string => {
      const headers = {
        'webhook-id': 'e-1',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': `v1,AAAA ${new Webhook(secret).sign('e-1', at, '{"device_id":"Tür 1"}')}`,
      };
      const given = [secret, headers, body].map((each) => JSON.stringify(each));
      return `print(is_from_reveille(${given.join(', ')}.encode()))`;
    };
    const checks = [
      check(now, '{"device_id":"Tür 1"}'),
      check(now, '{"device_id":"Tür 2"}'),
      check(new Date(now.getTime() - 302_000), '{"device_id":"Tür 1"}'),
    ];
    const input = [block(readFromRoot('docs/events.md'), 'python'), ...checks].join('\n');
    const { stdout, stderr } = spawnSync('python3', ['-'], { input, encoding: 'utf8' });
    assert.deepEqual([stdout, stderr], ['True\nFalse\nFalse\n', '']);
  },
);

const interpreters = [
  { language: 'python', program: 'python3', args: ['-'] },
  { language: 'js', program: 'node', args: ['--input-type=module', '-'] },
] as const;

for (const { language, program, args } of interpreters)
  test(
    `the ${language} of docs/signing.md computes the first vector, and those of the same header set`,
    { skip: spawnSync(program, ['--version']).status === 0 ? false : `no ${program} here` },
    () => {
      const { credential, vectors } = signingVectors;
      const chosen = vectors.filter(({ header_set }) => header_set === 'long');
      const calls = chosen.map(({ method, path, raw_query, body, headers }) => {
        const given = [
          credential.secret_key,
          credential.app_id,
          method,
          path,
          raw_query,
          body,
          headers['X-Tg-Date'],
        ];
        const texts = given.map((text) => JSON.stringify(text));
        if (language === 'python') texts[5] += '.encode()';
        return language === 'python'
          ? `print(sign(${texts.join(', ')}))`
          : `console.log(sign(${texts.join(', ')}));`;
      });
      const input = [block(readFromRoot('docs/signing.md'), language), ...calls].join('\n');
      const { stdout, stderr } = spawnSync(program, args, { input, encoding: 'utf8' });
      assert.equal(stderr, '');
      const signatures = stdout.trimEnd().split('\n');
      assert.deepEqual(signatures, [vectors[0]?.signature, ...chosen.map(({ signature }) => signature)]);
    },
  );

test('the bytes of docs/sleep-protocol.md are those of its example', () => {
  const page = readFromRoot('docs/sleep-protocol.md');
  const bytes = (text: string): string =>
    Buffer.from(text)
      .toString('hex')
      .replace(/..(?!$)/g, '$& ');
  for (const text of [
    'device-secret',
    'Tür-1',
    'RVL1\nABCD',
    '012345\n',
    'VEVTVERFVklDRTAx\n',
    'custom\n50\n1',
  ])
    assert.ok(page.includes(bytes(text)), text);
});

test('the example of docs/sleep-protocol.md prints the login line that the page says', { skip }, () => {
  const page = readFromRoot('docs/sleep-protocol.md');
  assert.equal(run(page), block(page, 'text'));
});

test('the example of docs/signal-protocol.md prints the login message that the page says', { skip }, () => {
  const page = readFromRoot('docs/signal-protocol.md');
  assert.equal(run(page), block(page, 'text'));
});
