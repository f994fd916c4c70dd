/** Creates certificates for a test; a server's settings name the files of the current one. */
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';

/** Reason to skip a test of TLS; false: none. */
export const noOpenssl =
  spawnSync('openssl', ['version']).status === 0 ? false : 'no openssl here to make a certificate';

export class TestCertificate {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  get certFile(): string {
    return this.#path('current.crt');
  }

  get keyFile(): string {
    return this.#path('current.key');
  }

  /** File settings in a listener's section. */
  get settings(): { readonly tls_cert_file: string; readonly tls_key_file: string } {
    return { tls_cert_file: this.certFile, tls_key_file: this.keyFile };
  }

  /** File settings for a server, each `section.key=value`. */
  overrides(section: 'api' | 'signal' | 'sleep' | 'media'): string[] {
    return Object.entries(this.settings).map(([key, file]) => `${section}.${key}=${file}`);
  }

  /**
   * Writes the certificate with this name into the files; it is made on first use. Valid for 127.0.0.1, or for a name with a
   * dot.
   */
  use(name: string, days = 2): void {
    this.#make(name, days);
    copyFileSync(this.#path(`${name}.crt`), this.certFile);
    copyFileSync(this.#path(`${name}.key`), this.keyFile);
  }

  /** PEM of the certificate that a client has to trust. */
  certificateOf(name: string): Buffer {
    this.#make(name);
    return readFileSync(this.#path(`${name}.crt`));
  }

  spoil(): void {
    writeFileSync(this.certFile, 'no certificate');
  }

  mix(certificate: string, key: string): void {
    this.use(key);
    copyFileSync(this.#path(`${certificate}.crt`), this.certFile);
  }

  #make(name: string, days = 2): void {
    if (existsSync(this.#path(`${name}.crt`))) return;
    const files = ['-keyout', this.#path(`${name}.key`), '-out', this.#path(`${name}.crt`)];
    const host = name.includes('.') ? `DNS:${name}` : 'IP:127.0.0.1';
    const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${host}`, '-days', `${days}`];
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    execFileSync('openssl', ['req', '-x509', ...key, ...files, ...subject], { stdio: 'ignore' });
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}

export async function certificateShown(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { CN } = socket.getPeerCertificate().subject;
  socket.destroy();
  return CN;
}
