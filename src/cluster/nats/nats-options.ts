/**
 * How this node reaches NATS, from its settings to the options of the client: servers, credentials, TLS, and how fast a
 * dead server is noticed. What cannot work is refused with a sentence; nothing secret stands in it.
 */
import { credsAuthenticator, type Authenticator, type ConnectionOptions } from '@nats-io/nats-core';
import { messageOf } from '../../lib/result.ts';
import { replaceUserInfo } from '../../lib/showable-text.ts';
import { readTextFile } from '../../lib/text-file.ts';

export interface NatsAccess {
  /** One URL or several, comma separated: `nats://` or `tls://`, with a token, with user and password, or without. */
  readonly url: string;
  /** The path of a credentials file; it is read again at every connection. */
  readonly credentialsPath: string | null;
  /** The path of a PEM file with the authorities that the servers' certificates are checked against. */
  readonly caPath: string | null;
  readonly nodeName: string;
}

export interface NatsOptions extends NatsAccess {
  readonly prefix: string;
  /** The replicas of every stream and bucket that this node makes. */
  readonly replicas: number;
  readonly eventsRetainedMax: number;
  readonly eventsRetentionMs: number;
}

/** A server that answers no ping is given up after the third: after 2 to 3 s. */
const pingMs = 1000;
const pingsUnansweredMax = 2;
const dialMsMax = 2000;
const redialMs = 250;
const redialJitterMs = 250;

/** Throws an Error whose message is a sentence for the operator. */
export function connectionOptions(options: NatsAccess, inboxPrefix: string): ConnectionOptions {
  const urls = options.url.split(',').map((url) => new URL(url.trim()));
  const isTls = options.caPath !== null || urls.some(({ protocol }) => protocol === 'tls:');
  return {
    servers: urls.map(({ host }) => host),
    name: options.nodeName,
    inboxPrefix,
    noEcho: true,
    noAsyncTraces: true,
    timeout: dialMsMax,
    pingInterval: pingMs,
    maxPingOut: pingsUnansweredMax,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: redialMs,
    reconnectJitter: redialJitterMs,
    reconnectJitterTLS: redialJitterMs,
    ...(isTls && { tls: options.caPath === null ? {} : { ca: readText('cluster.nats_ca', options.caPath) } }),
    ...userInfoOf(urls),
    ...(options.credentialsPath !== null && { authenticator: freshCredentials(options.credentialsPath) }),
  };
}

/** NATS means a token by a user without a password. */
function userInfoOf(urls: readonly URL[]): Pick<ConnectionOptions, 'user' | 'pass' | 'token'> {
  const { username, password } = urls.find((url) => url.username !== '') ?? { username: '', password: '' };
  try {
    const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
    if (pass !== '') return { user, pass };
    return user === '' ? {} : { token: user };
  } catch {
    throw new Error('cluster.nats_url: a % before the @ is no escape: write it as %25');
  }
}

/** Without token, user and password, for people. */
export function shownServers(url: string): string {
  return replaceUserInfo(url, '');
}

/** What the file says at each connection, so that it can be exchanged; what it said before while it can't be read. */
function freshCredentials(path: string): Authenticator {
  let known = readCredentials(path);
  return (nonce) => {
    try {
      known = readCredentials(path);
    } catch {
      // The credentials in use may still be valid.
    }
    return known(nonce);
  };
}

function readCredentials(path: string): Authenticator {
  const authenticator = credsAuthenticator(Buffer.from(readText('cluster.nats_credentials', path)));
  try {
    // The client reads the file only when it signs, too late to say so at a start.
    authenticator('nonce');
  } catch {
    throw new Error(`cluster.nats_credentials: ${path} is not a credentials file of NATS`);
  }
  return authenticator;
}

function readText(setting: string, path: string): string {
  try {
    return readTextFile(path);
  } catch (error) {
    throw new Error(`${setting}: ${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}
