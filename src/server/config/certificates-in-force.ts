/** The certificates of the TLS listeners: the one that each shows now, which a reload replaces only where the listener accepts it, and it has not expired. */
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { messageOf } from '../../lib/result.ts';
import { hasOwnListener, type ListenerName, type Settings } from './settings-schema.ts';
import { readListenerCertificates, type ListenerCertificate } from './start-checks.ts';

export class CertificatesInForce {
  readonly #settings: Settings;
  readonly #log: Log;
  readonly #clock: Pick<Clock, 'wallMs'>;
  #shown: ReadonlyMap<ListenerName, ListenerCertificate>;

  constructor(
    settings: Settings,
    { log, clock }: { readonly log: Log; readonly clock: Pick<Clock, 'wallMs'> },
  ) {
    this.#settings = settings;
    this.#log = log;
    this.#clock = clock;
    this.#shown = this.#read();
  }

  get listeners(): readonly ListenerName[] {
    return [...this.#shown.keys()];
  }

  /** By listener, in Unix seconds. */
  expiriesS(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#shown].map(([name, { expiresMs }]) => [name, expiresMs / 1000]));
  }

  /**
   * `reload` has the listener read its files again; it throws, or resolves to a sentence, where the listener keeps what it
   * has. Resolves to that sentence with the listener's name; null: it is reloaded. Logs the certificate in force.
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
      this.#log.info(inForce, isSame ? 'certificate reloaded, and the same' : 'certificate replaced');
      return null;
    }
    this.#log.error({ ...inForce, reason }, 'certificate not reloaded; the one in force stays');
    return `${name} certificate: ${reason}`;
  }

  /** The sentence for a file whose certificate has expired, which no client would accept; null: it has not, or cannot be read. */
  #findExpiry(name: ListenerName): string | null {
    const found = this.#read().get(name);
    if (found === undefined || found.expiresMs > this.#clock.wallMs()) return null;
    return `${found.path} has expired: ${found.certificate.validTo}`;
  }

  #read(): ReadonlyMap<ListenerName, ListenerCertificate> {
    const own = readListenerCertificates(this.#settings).filter(({ listener }) =>
      hasOwnListener(this.#settings, listener),
    );
    return new Map(own.map((found) => [found.listener, found]));
  }
}
