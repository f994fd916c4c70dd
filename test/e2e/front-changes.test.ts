/** Changed credentials and certificates of a real server: once the change is answered, every front has it. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { SigningCredential } from '../../src/protocol/tgv1/sign-request.ts';
import type { ApiClient } from '../support/api-client.ts';
import { SiteServer } from '../support/site-server.ts';
import { lastFirst, temporaryDirectory, type Ending } from '../support/temporary-store.ts';
import { certificateShown, noOpenssl, TestCertificate } from '../support/test-certificate.ts';
import { testCredentials, writeTestRegistry } from '../support/test-server.ts';

const skip = process.platform === 'linux' ? false : 'a port has several fronts on Linux alone';
/** The kernel balances them, so that each front has some. */
const connections = 12;
const { appId } = testCredentials.all;

async function openSite(t: Ending, ...settings: readonly string[]): Promise<SiteServer> {
  const ending = lastFirst(t);
  const directory = temporaryDirectory(ending);
  const all = [`registry.file=${await writeTestRegistry(directory)}`, ...settings];
  const site = new SiteServer(ending, directory, all, ['--fronts', '2'], testCredentials.all);
  await site.start();
  return site;
}

const site = await openSite({ after });

/** Kept connections of a backend, distributed over both fronts. */
function connect(credential: SigningCredential): readonly ApiClient[] {
  return Array.from({ length: connections }, () => site.newApi(credential));
}

/** Distinct codes of their answers. */
async function codesOf(apis: readonly ApiClient[]): Promise<readonly unknown[]> {
  const answers = await Promise.all(apis.map((api) => api.connectivity('SLEEPING01')));
  return [...new Set(answers.map(({ json }) => json.code))];
}

/** Resolves with the created credential when the change is answered. */
async function change(action: string, body: object): Promise<SigningCredential> {
  const { credential } = await site.ops<{ credential?: Made }>(`/v1/credential/${action}`, 'POST', body);
  return { accessKeyId: credential?.access_key_id ?? '', secretKey: credential?.secret_key ?? '', appId };
}

interface Made {
  readonly access_key_id: string;
  readonly secret_key: string;
}

const create = (): Promise<SigningCredential> => change('create', { app_id: appId, permissions: ['*'] });

test(
  'an access key is accepted by every front once it is created, and refused once it is revoked',
  { skip },
  async () => {
    const made = await create();
    const apis = connect(made);
    assert.deepEqual(await codesOf(apis), [0]);
    await change('revoke', { access_key_id: made.accessKeyId });
    assert.deepEqual(await codesOf(apis), [40105]);
  },
);

test('a removed access key is refused by every front', { skip }, async () => {
  const made = await create();
  const apis = connect(made);
  assert.deepEqual(await codesOf(apis), [0]);
  await change('remove', { access_key_id: made.accessKeyId });
  assert.deepEqual(await codesOf(apis), [40105]);
});

for (const [terms, graceS, code] of [
  ['without grace is refused', 0, 40105],
  ['with grace is accepted', 3600, 0],
] as const)
  test(
    `an access key that is rotated ${terms} by every front, and its successor is accepted`,
    { skip },
    async () => {
      const made = await create();
      const apis = connect(made);
      assert.deepEqual(await codesOf(apis), [0]);
      const successor = await change('rotate', { access_key_id: made.accessKeyId, grace_s: graceS });
      assert.deepEqual(await codesOf(apis), [code]);
      assert.deepEqual(await codesOf(connect(successor)), [0]);
    },
  );

interface RegistryFile {
  readonly credentials: { access_key_id: string; secret_key: string; revoked: boolean }[];
}

/** Writes another registry file. Resolves with its text. */
async function changeFile(act: (file: RegistryFile) => void): Promise<string> {
  const path = join(site.directory, 'registry.json');
  const registry = JSON.parse(await readFile(path, 'utf8')) as RegistryFile;
  act(registry);
  await writeFile(path, JSON.stringify(registry));
  return path;
}

function entryOf(
  { credentials }: RegistryFile,
  { accessKeyId }: SigningCredential,
): RegistryFile['credentials'][number] {
  return credentials.find((entry) => entry.access_key_id === accessKeyId) ?? assert.fail('it is in the file');
}

test('an imported registry is in force at every front: a new secret of an access key', { skip }, async () => {
  const { second } = testCredentials;
  const renewed = { ...second, secretKey: 'another secret of second' };
  const apis = connect(second);
  assert.deepEqual(await codesOf(apis), [0]);
  const file = await changeFile((registry) => {
    entryOf(registry, second).secret_key = renewed.secretKey;
  });
  await site.cli('registry', 'import', file);
  assert.deepEqual(await codesOf(apis), [40105]);
  assert.deepEqual(await codesOf(connect(renewed)), [0]);
});

test('a registry file reloaded by SIGHUP is in force at every front', { skip }, async () => {
  const apis = connect(testCredentials.reader);
  assert.deepEqual(await codesOf(apis), [0]);
  await changeFile((registry) => (entryOf(registry, testCredentials.reader).revoked = true));
  process.kill(site.pid, 'SIGHUP');
  await site.server.command.logged('reloaded');
  assert.deepEqual(await codesOf(apis), [40105]);
});

test(
  'every front uses a renewed certificate, and a broken one changes nothing',
  { skip: skip || noOpenssl },
  async (t) => {
    const certificate = new TestCertificate(temporaryDirectory(t));
    certificate.use('first');
    const site = await openSite(t, ...certificate.overrides('api'));
    const shown = async (): Promise<readonly string[]> => {
      const names = Array.from({ length: connections }, () => certificateShown(site.ports.api));
      return [...new Set(await Promise.all(names))];
    };
    assert.deepEqual(await shown(), ['first']);
    certificate.use('second');
    process.kill(site.pid, 'SIGHUP');
    await site.server.command.logged('certificate: replaced');
    assert.deepEqual(await shown(), ['second']);
    certificate.spoil();
    process.kill(site.pid, 'SIGHUP');
    const { listener, reason } = await site.server.command.logged<Record<string, string>>(
      'certificate: not reloaded; the previous one stays in force',
    );
    assert.deepEqual([listener, typeof reason], ['api', 'string']);
    assert.deepEqual(await shown(), ['second']);
  },
);
