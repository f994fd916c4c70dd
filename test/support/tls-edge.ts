/** An edge with TLS in addition to those of a site, linked as one on another machine. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import { LongCommand } from './cli-process.ts';
import { findFreePort } from './free-port.ts';
import { settingArguments } from './server-process.ts';
import { siteIdentity } from './site-server.ts';
import { temporaryDirectory, type Ending } from './temporary-store.ts';
import { TestCertificate } from './test-certificate.ts';

const host = '127.0.0.1';

export class TlsEdge {
  /** Settings of the core, each `section.key=value`. */
  readonly coreSettings: readonly string[];
  readonly #t: Ending;
  readonly #core: string;
  readonly #keyFile: string;
  readonly #certificate: TestCertificate;
  #port = 0;

  private constructor(t: Ending, directory: string, core: string) {
    this.#t = t;
    this.#core = core;
    this.#keyFile = join(directory, 'edge.key');
    writeFileSync(this.#keyFile, randomBytes(32));
    this.#certificate = new TestCertificate(directory);
    this.#certificate.use('sleep');
    this.coreSettings = [`edges.listen=${core}`, `edges.key_file=${this.#keyFile}`];
  }

  static async make(t: Ending): Promise<TlsEdge> {
    return new TlsEdge(t, temporaryDirectory(t), `${host}:${await findFreePort(host)}`);
  }

  /** Call when the core listens for edges. */
  async start(): Promise<void> {
    const own = ['edge.name=tls', `edge.listen=${host}:0`, ...this.#certificate.overrides('sleep')];
    const args = ['edge', '--core', this.#core, '--key-file', this.#keyFile, ...settingArguments(own)];
    const edge = new LongCommand(this.#t, args);
    const { listeners } = await edge.logged<{ listeners: { sleep: string } }>('ready');
    this.#port = Number(listeners.sleep.split(':').at(-1));
  }

  module(device: number): Promise<SleepingModule> {
    const ca = this.#certificate.certificateOf('sleep');
    return SleepingModule.connect(this.#port, { ...siteIdentity(device), tls: { ca } });
  }
}
