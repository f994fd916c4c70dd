/**
 * The certificates that a command trusts when it speaks TLS to a server: those of `--ca`, whoever answers with `--insecure`,
 * for a server on this machine the one in its own file, else those that Node trusts.
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

/** Adds `--ca` and `--insecure` to a command that speaks to a server. */
export function addTrustOptions(command: Command): Command {
  const insecure = new Option('--insecure', 'with TLS, check no certificate: for tests only');
  return command
    .option('--ca <file>', 'with TLS, trust only the certificates in this PEM file')
    .addOption(insecure.conflicts('ca'));
}

/** Undefined: the options name none. Warns of `--insecure`. Throws a CommandError when the file has no certificate. */
export function findTrust(
  { output }: Pick<CommandContext, 'output'>,
  { ca, insecure }: TrustOptions,
): ConnectionOptions | undefined {
  if (ca !== undefined) return trustingAuthority(ca);
  if (insecure !== true) return undefined;
  output.warning('--insecure: the certificate is not checked, so anybody may be answering');
  return { rejectUnauthorized: false };
}

const certificateStart = '-----BEGIN CERTIFICATE-----';
const certificateEnd = '-----END CERTIFICATE-----';

/** The certificates of the file may also be those of the server itself, whoever issued them. */
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

/** Trusts this certificate alone, whatever its issuer and name: that of a server on this machine names the host as others reach it. */
export function trustingOnly(certificate: X509Certificate): ConnectionOptions {
  return {
    ca: certificate.toString(),
    allowPartialTrustChain: true,
    checkServerIdentity: () => undefined,
  };
}

/** The certificate of a listener on this machine. Throws a CommandError. */
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
