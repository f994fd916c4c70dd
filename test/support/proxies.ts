/**
 * nginx and HAProxy by the very files of config/proxy, with other ports and paths in them: whatever is to be replaced
 * has to be there, so that what runs here is what is recommended.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findFreePort } from './free-port.ts';
import { toolPath, type DebianTool } from './debian-tools.ts';
import type { Ending } from './temporary-store.ts';
import { temporaryDirectory } from './temporary-store.ts';
import type { TestCertificate } from './test-certificate.ts';
import { readFromRoot } from './checkout.ts';

const host = '127.0.0.1';

export interface NginxPorts {
  readonly api: number;
  readonly signal: number;
  readonly media: number;
  readonly sleep: number;
}

/** Before a server that listens at `behind`. Resolves, when it takes connections, to where it does. */
export async function startNginx(
  t: Ending,
  behind: NginxPorts,
  certificate: TestCertificate,
): Promise<NginxPorts> {
  const directory = temporaryDirectory(t);
  const [api, signal, media, sleep] = await Promise.all(
    ['api', 'signal', 'media', 'sleep'].map(() => findFreePort(host)),
  );
  const ports = { api, signal, media, sleep } as NginxPorts;
  const bodies = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${directory}/${kind};`,
  );
  const listens = (['api', 'signal', 'media'] as const).map(
    (name) =>
      [
        `listen 443 ssl;\n    server_name ${name}.example;`,
        `listen ${host}:${ports[name]} ssl;\n    server_name ${name}.example;`,
      ] as const,
  );
  const file = configure('nginx.conf', directory, [
    ['user www-data;', `user ${userInfo().username};`],
    ['pid /run/nginx.pid;', `pid ${directory}/nginx.pid;`],
    ['error_log /var/log/nginx/error.log;', 'error_log stderr notice;'],
    ['worker_processes auto;', 'worker_processes 1;'],
    ['worker_rlimit_nofile 65536;', ''],
    ['worker_connections 30000;', 'worker_connections 500;'],
    ['http {', `http {\n${bodies.join('\n')}`],
    ['/etc/reveille/tls.crt', certificate.certFile],
    ['/etc/reveille/tls.key', certificate.keyFile],
    ['server 127.0.0.1:8080;', `server ${host}:${behind.api};`],
    ['server 127.0.0.1:8082;', `server ${host}:${behind.signal};`],
    ['server 127.0.0.1:8083;', `server ${host}:${behind.media};`],
    ['proxy_pass 127.0.0.1:8081;', `proxy_pass ${host}:${behind.sleep};`],
    ['listen 8881;', `listen ${host}:${ports.sleep};`],
    ...listens,
  ]);
  await started(t, 'nginx', ['-c', file, '-g', 'daemon off;'], /start worker process \d/);
  return ports;
}

/** Before a sleep port at `behind`. Resolves to its own. */
export async function startHaproxy(t: Ending, behind: number): Promise<number> {
  const port = await findFreePort(host);
  const file = configure('haproxy.cfg', temporaryDirectory(t), [
    ['maxconn 100000', 'maxconn 100'],
    ['bind *:8881', `bind ${host}:${port}`],
    ['127.0.0.1:8081', `${host}:${behind}`],
  ]);
  await started(t, 'haproxy', ['-W', '-f', file], /Loading success/);
  return port;
}

/** The path of the recommended file, changed. */
function configure(
  name: string,
  directory: string,
  changes: readonly (readonly [from: string, to: string])[],
): string {
  let text = readFromRoot(`config/proxy/${name}`);
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`config/proxy/${name} has no "${from}" any more`);
    text = text.replaceAll(from, to);
  }
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

/** Resolves when it says so; rejects, with what it said, when it ends before. It is ended with the test. */
async function started(t: Ending, tool: DebianTool, args: readonly string[], ready: RegExp): Promise<void> {
  const child = spawn(tool, args, {
    env: { ...process.env, PATH: toolPath },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) =>
    child.once('exit', () => resolve()).once('error', () => resolve()),
  );
  t.after(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line);
      if (ready.test(line)) resolve();
    });
    void ended.then(() => reject(new Error(`${tool} ended: ${said.join('\n')}`)));
  });
}
