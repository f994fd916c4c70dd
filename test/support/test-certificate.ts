/** Certificates of the test's own, one of them in the files that a server was told of. */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Why a test of TLS is left out here; false: it is not. */
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

  /** Puts the certificate of this name, made when it is first asked for, into the files. It is for 127.0.0.1, or for a name with a dot. */
  use(name: string): void {
    this.#make(name);
    copyFileSync(this.#path(`${name}.crt`), this.certFile);
    copyFileSync(this.#path(`${name}.key`), this.keyFile);
  }

  /** PEM: whom to trust who wants to meet this one. */
  certificateOf(name: string): Buffer {
    this.#make(name);
    return readFileSync(this.#path(`${name}.crt`));
  }

  /** The files hold no certificate any more. */
  spoil(): void {
    writeFileSync(this.certFile, 'no certificate');
  }

  #make(name: string): void {
    if (existsSync(this.#path(`${name}.crt`))) return;
    const files = ['-keyout', this.#path(`${name}.key`), '-out', this.#path(`${name}.crt`)];
    const host = name.includes('.') ? `DNS:${name}` : 'IP:127.0.0.1';
    const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${host}`, '-days', '2'];
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    execFileSync('openssl', ['req', '-x509', ...key, ...files, ...subject], { stdio: 'ignore' });
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}
