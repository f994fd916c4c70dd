/** A change of the registry or of a certificate reaches all processes, and an event is delivered to a webhook by one. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import type { ApiAnswer, ApiClient } from '../support/api-client.ts';
import { ProcessSite } from '../support/cluster-processes.ts';
import { siteAppId, siteDevice, until } from '../support/cluster-site.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';
import { noOpenssl, TestCertificate } from '../support/test-certificate.ts';
import { receiverSecret, WebhookReceiver } from '../support/webhook-receiver.ts';

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

interface RegistryFile {
  credentials: object[];
  devices: { device_id: string }[];
}

/** Each of the connections, and with sixteen of them each worker, answers so within a second. */
async function allWithin1s(
  apis: readonly ApiClient[],
  ask: (api: ApiClient) => Promise<ApiAnswer>,
  isWanted: (answer: ApiAnswer) => boolean,
): Promise<void> {
  await Promise.all(apis.map((api) => until(() => ask(api), isWanted, 1000)));
}

const receiver = await WebhookReceiver.start({ after });
const webhooks = [{ app_id: siteAppId, url: receiver.url, secret: receiverSecret, types: ['*'] }];
const site = await ProcessSite.start({ after }, 3, {
  webhooks,
  overrides: ['webhooks.allow_local=true'],
});

describe('several processes', { timeout: 120_000 }, () => {
  test('deliver each event to a webhook once', async () => {
    const modules = await Promise.all(range(32).map((number) => site.module(number)));
    for (const module of modules) await module.close();
    await receiver.until(64);
    const last = await site.module(40);
    const isLast = (): boolean => receiver.received.some(({ body }) => body.includes(siteDevice(40)));
    while (!isLast()) await receiver.until(receiver.received.length + 1);
    await last.close();
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    assert.equal(new Set(ids).size, ids.length);
  });

  test('know a registry file that was changed, and refuse a credential that was revoked, all of them', async () => {
    const apis = range(16).map(() => site.api());
    const file = join(site.directory, 'registry.json');
    const registry = JSON.parse(readFileSync(file, 'utf8')) as RegistryFile;
    const [sample] = registry.devices;
    const ask = (api: ApiClient): Promise<ApiAnswer> => api.connectivity('NEWDEVICE');
    for (const api of apis) assert.equal((await ask(api)).json.code, 40403);
    const other = { appId: siteAppId, accessKeyId: 'AKOTHER', secretKey: 'another-secret-of-a-backend' };
    const [own] = registry.credentials;
    registry.credentials.push({ ...own, access_key_id: other.accessKeyId, secret_key: other.secretKey });
    registry.devices.push({ ...sample, device_id: 'NEWDEVICE' });
    writeFileSync(file, JSON.stringify(registry));
    process.kill(site.server.command.pid ?? 0, 'SIGHUP');
    await site.server.command.logged('registry imported', 2);
    await allWithin1s(apis, ask, ({ json }) => json.code === 0);

    const asOther = (api: ApiClient): Promise<ApiAnswer> =>
      api.connectivity('NEWDEVICE', { credential: other });
    for (const api of apis) assert.equal((await asOther(api)).json.code, 0);
    await site.ops('/v1/credential/revoke', 'POST', { access_key_id: other.accessKeyId });
    await allWithin1s(apis, asOther, ({ json }) => json.code === 40105);
    for (const api of apis) assert.equal((await ask(api)).json.code, 0);

    const module = await site.module(1);
    const controller = await site.controller(1);
    await site.committed(1);
    await site.ops('/v1/device/disable', 'POST', { device_id: siteDevice(1) });
    await module.closed;
    assert.equal((await controller.closed).code, 4401);
    await allWithin1s(
      apis,
      (api) => api.wake({ device_id: siteDevice(1) }),
      ({ json }) => json.code === 40403,
    );
    for (const _ of range(8)) await assert.rejects(site.module(1), /refused/);
  });

  test('end what a device had that lost the right, at whichever of them, within a second', async () => {
    const numbers = range(12).map((index) => 10 + index);
    const modules = await Promise.all(numbers.map((number) => site.module(number)));
    const controllers = await Promise.all(numbers.map((number) => site.controller(number)));
    const others = await Promise.all(range(4).map((index) => site.module(30 + index)));
    const file = join(site.directory, 'registry.json');
    const registry = JSON.parse(readFileSync(file, 'utf8')) as RegistryFile;
    const changed = new Set(numbers.map(siteDevice));
    const devices = registry.devices.map((device) =>
      changed.has(device.device_id) ? { ...device, secret: 'another secret of it' } : device,
    );
    writeFileSync(file, JSON.stringify({ ...registry, devices }));
    process.kill(site.server.command.pid ?? 0, 'SIGHUP');
    await site.server.command.logged('registry imported', 3);
    const importedMs = performance.now();
    for (const { closed } of modules) await closed;
    for (const { closed } of controllers) assert.equal((await closed).code, 4401);
    const tookMs = performance.now() - importedMs;
    assert.ok(tookMs < 1000, `it took ${tookMs} ms`);
    for (const index of range(4)) assert.equal((await site.wake(site.api(), 30 + index)).status, 202);
    await Promise.all(others.map((module) => module.close()));
  });

  test(
    'show the new certificate of the sleep port and the API after a reload',
    { skip: noOpenssl },
    async (t) => {
      const certificate = new TestCertificate(temporaryDirectory(t));
      certificate.use('first');
      const { certFile, keyFile } = certificate;
      const overrides = ['sleep', 'api'].flatMap((listener) => [
        `${listener}.tls_cert_file=${certFile}`,
        `${listener}.tls_key_file=${keyFile}`,
      ]);
      const site = await ProcessSite.start(t, 2, { overrides });
      const names = async (): Promise<string[]> => {
        const { sleep, api } = site.server.ports;
        const shown = await Promise.all(
          range(16).map((number) => nameShownAt(number % 2 === 0 ? sleep : api)),
        );
        return Array.from(new Set(shown));
      };
      assert.deepEqual(await names(), ['first']);
      certificate.use('second');
      process.kill(site.server.command.pid ?? 0, 'SIGHUP');
      const startedMs = performance.now();
      while ((await names()).join() !== 'second')
        assert.ok(performance.now() - startedMs < 2000, 'the old certificate is still shown');
    },
  );
});

/** The common name in the certificate that a connection is shown; empty: the port changed hands before it was accepted. */
function nameShownAt(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().subject.CN);
      socket.destroy();
    });
    socket.on('error', () => resolve(''));
  });
}
