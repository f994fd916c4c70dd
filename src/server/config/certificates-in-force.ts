/** The certificate in force at each TLS listener. A reload replaces it unless the new one is invalid or expired. */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Clock } from '../../lib/clock.ts';
import { messageOf } from '../../lib/result.ts';
import { hasOwnListener, type ListenerName, type Settings } from './settings-schema.ts';
import { readListenerCertificates, type ListenerCertificate } from './start-checks.ts';

type CertificateDeps = Pick<CoreDeps, 'log'> & { readonly clock: Pick<Clock, 'wallMs'> };

export class CertificatesInForce {
  readonly #settings: Settings;
  readonly #deps: CertificateDeps;
  #shown: ReadonlyMap<ListenerName, ListenerCertificate>;

  constructor(settings: Settings, deps: CertificateDeps) {
    this.#settings = settings;
    this.#deps = deps;
    this.#shown = this.#read();
  }

  get listeners(): readonly ListenerName[] {
    return [...this.#shown.keys()];
  }

  /** Unix seconds by listener. */
  expiriesS(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#shown].map(([name, { expiresMs }]) => [name, expiresMs / 1000]));
  }

  /**
   * `reload`: reloads the files of the listener; throws, or resolves with a sentence, if the old certificate stays. Resolves with that
   * sentence and the listener's name; null: reloaded. Logs the certificate in force.
   */
  async reload(name: ListenerName, reload: () => Promise<string | null>): Promise<string | null> {
    const reason = this.#findExpiry(name) ?? (await reload().catch(messageOf));
    const before = this.#shown.get(name);
    const read = reason === null ? this.#read().get(name) : undefined;
    if (read !== undefined) this.#shown = new Map([...this.#shown, [name, read]]);
    const certificate = (read ?? before)?.certificate;
    const inForce = {
      listener: name,
      subject: certificate?.subject.replaceAll('\n', ', '),
      fingerprint: certificate?.fingerprint256,
      not_after: certificate?.validTo,
    };
    if (reason === null) {
      const isSame = certificate?.fingerprint256 === before?.certificate.fingerprint256;
      this.#deps.log.info(inForce, isSame ? 'certificate: reloaded; unchanged' : 'certificate: replaced');
      return null;
    }
    this.#deps.log.error(
      { ...inForce, reason },
      'certificate: not reloaded; the previous one stays in force',
    );
    return `${name} certificate: ${reason}`;
  }

  /** A sentence for an expired certificate, which no client would accept; null: not expired, or unreadable. */
  #findExpiry(name: ListenerName): string | null {
    const found = this.#read().get(name);
    if (found === undefined || found.expiresMs > this.#deps.clock.wallMs()) return null;
    return `${found.path} has expired: ${found.certificate.validTo}`;
  }

  #read(): ReadonlyMap<ListenerName, ListenerCertificate> {
    const own = readListenerCertificates(this.#settings).filter(({ listener }) =>
      hasOwnListener(this.#settings, listener),
    );
    return new Map(own.map((found) => [found.listener, found]));
  }
}
