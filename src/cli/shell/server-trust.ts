/**
 * Certificates that a command trusts over TLS: those of `--ca`, any with `--insecure`, for a server on this machine the one in
 * its own file, else Node's certificate authorities.
 */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { Option, type Command } from 'commander';
import { messageOf } from '../../lib/result.ts';
import { CommandError } from './command-error.ts';
import type { CommandContext } from './command-context.ts';

export interface TrustOptions {
  readonly ca?: string;
  readonly insecure?: boolean;
}

export function addTrustOptions(command: Command): Command {
  const insecure = new Option('--insecure', 'with TLS, accept any certificate: for tests only');
  return command
    .option('--ca <file>', 'with TLS, trust only the certificates in this PEM file')
    .addOption(insecure.conflicts('ca'));
}

/** Undefined: neither option was given. Warns about `--insecure`. Throws a CommandError if the file has no certificate. */
export function findTrust(
  { output }: Pick<CommandContext, 'output'>,
  { ca, insecure }: TrustOptions,
): ConnectionOptions | undefined {
  if (ca !== undefined) return trustingAuthority(ca);
  if (insecure !== true) return undefined;
  output.warning('--insecure: the certificate is not checked, so the answer may come from anyone');
  return { rejectUnauthorized: false };
}

const certificateStart = '-----BEGIN CERTIFICATE-----';
const certificateEnd = '-----END CERTIFICATE-----';

/** The file may also hold the server's own certificate, whatever its issuer. */
export function trustingAuthority(file: string): ConnectionOptions {
  try {
    const [, ...certificates] = readFileSync(file, 'latin1').split(certificateStart);
    if (certificates.length === 0) throw new Error('it has no certificate');
    return {
      ca: certificates.map((rest) => {
        const [base64 = ''] = rest.split(certificateEnd, 1);
        return new X509Certificate(`${certificateStart}${base64}${certificateEnd}`).toString();
      }),
      allowPartialTrustChain: true,
    };
  } catch (error) {
    throw new CommandError(
      `--ca ${file}: ${messageOf(error)}`,
      'name a PEM file: it begins with -----BEGIN CERTIFICATE-----',
    );
  }
}

/** Pins this certificate, whatever its issuer and name: a server on this machine is reached by an address that it may lack. */
export function trustingOnly(certificate: X509Certificate): ConnectionOptions {
  return {
    ca: certificate.toString(),
    allowPartialTrustChain: true,
    checkServerIdentity: () => undefined,
  };
}

/** Throws a CommandError if the file cannot be read. */
export function readListenerCertificate(listener: string, certFile: string, advice: string): X509Certificate {
  try {
    return new X509Certificate(readFileSync(certFile));
  } catch (error) {
    throw new CommandError(
      `cannot read the certificate of ${listener}, ${certFile}: ${messageOf(error)}`,
      advice,
    );
  }
}
