/** A session of the console at a real site: it survives an upgrade and a restart, and a logout also ends it for later releases. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { UpgradeSite } from '../support/upgrade-site.ts';

/** A browser at the console, which keeps the cookie of its login for any port. */
class Browser {
  readonly #upgraded: UpgradeSite;
  /** The value of `Set-Cookie`, without its name. */
  #secret = '';
  #csrf = '';

  constructor(upgraded: UpgradeSite) {
    this.#upgraded = upgraded;
  }

  async logIn(): Promise<void> {
    const token = readFileSync(join(this.#upgraded.site.directory, 'ops.token'), 'utf8').trim();
    const response = await this.#ask('POST', '/console/login', { token });
    assert.equal(response.status, 200);
    this.#secret = /=([^;]+);/.exec(response.headers.get('Set-Cookie') ?? '')?.[1] ?? '';
    const { session } = (await response.json()) as { readonly session: { readonly csrf: string } };
    this.#csrf = session.csrf;
  }

  /** Status of a request by the page. */
  async status(method: string, path: string, body?: object): Promise<number> {
    return (await this.#ask(method, path, body)).status;
  }

  #ask(method: string, path: string, body?: object): Promise<Response> {
    const { ops } = this.#upgraded.site.ports;
    const headers = {
      Origin: `http://127.0.0.1:${ops}`,
      Cookie: `reveille_console_${ops}=${this.#secret}`,
      'X-Reveille-Csrf': this.#csrf,
      'Content-Type': 'application/json',
    };
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    return fetch(`http://127.0.0.1:${ops}${path}`, { method, headers, ...text });
  }
}

test('sessions of the console survive an upgrade and a restart, and a logged-out one stays ended', async (t) => {
  const upgraded = await UpgradeSite.open(t, { edges: 1, devices: 1 });
  const [staying, leaving] = [new Browser(upgraded), new Browser(upgraded)];
  await staying.logIn();
  await leaving.logIn();
  const pid = await upgraded.corePid();
  const { exitCode, stderr } = await upgraded.command();
  assert.equal(exitCode, 0, stderr);
  assert.notEqual(await upgraded.corePid(), pid);
  const cluster = ['GET', '/v1/cluster'] as const;
  const statuses = () => Promise.all([staying.status(...cluster), leaving.status(...cluster)]);
  assert.deepEqual(await statuses(), [200, 200], 'both survive the upgrade');
  assert.equal(await staying.status('POST', '/v1/device/kick', { device_id: 'SITEDEVICE00000' }), 200);

  assert.equal(await leaving.status('POST', '/console/logout', {}), 200);
  assert.deepEqual(await statuses(), [200, 401]);
  assert.equal((await upgraded.command()).exitCode, 0);
  assert.deepEqual(await statuses(), [200, 401], 'behind an upgrade, too');
  await upgraded.site.stop();
  await upgraded.site.start();
  assert.deepEqual(await statuses(), [200, 401], 'behind a restart, too');
  await upgraded.site.kill();
  await upgraded.site.start();
  assert.deepEqual(await statuses(), [200, 401], 'behind a crash, too');
});
