/** The settings in the form that the layers below take: numbers with their units, pairs, and values that follow from two settings. */
import { availableParallelism } from 'node:os';
import type { ListeningSettings } from '../../lib/listening-apps.ts';
import type { TlsFiles } from '../../lib/tls-files.ts';
import type { Rate } from '../../lib/token-bucket.ts';
import type { MediaProcessSettings } from '../../protocol/media-link/media-values.ts';
import type { WakeupLimitSettings } from '../../core/devices/request-limits.ts';
import type { SignalGatewaySettings } from '../../gateways/signal/settings.ts';
import type { SleepGatewaySettings } from '../../gateways/sleep/settings.ts';
import type { Settings } from './settings-schema.ts';

export function apiListenerSettings({ api }: Settings): ListeningSettings {
  return { host: api.listen.host, port: api.listen.port, tls: tlsFiles(api) };
}

export function sleepGatewaySettings({ sleep }: Settings): SleepGatewaySettings {
  const sharesAddress = sleep.behind_balancer && !sleep.proxy_protocol;
  return {
    host: sleep.listen.host,
    port: sleep.listen.port,
    maxSessions: sleep.max_sessions,
    acceptsPerSecond: sleep.accepts_per_second,
    acceptRampSeconds: sleep.accept_ramp_s,
    handshakesMax: sleep.handshakes_max,
    handshakesPerAddressMax: sharesAddress ? 0 : sleep.handshakes_per_address_max,
    admissionQueueMax: sleep.admission_queue_max,
    admissionWaitMs: sleep.admission_wait_ms,
    loginDeadlineMs: sleep.login_deadline_ms,
    writeDeadlineMs: sleep.write_deadline_ms,
    writeStuckMs: sleep.write_stuck_ms,
    floodBytesMax: sleep.flood_bytes_max,
    floodWindowMs: sleep.flood_window_ms,
    proxyProtocol: sleep.proxy_protocol,
    tls: tlsFiles(sleep),
  };
}

export function signalGatewaySettings({ signal }: Settings): SignalGatewaySettings {
  return {
    host: signal.listen.host,
    port: signal.listen.port,
    maxSessions: signal.max_sessions,
    handshakesMax: signal.handshakes_max,
    handshakesPerAddressMax: signal.handshakes_per_address_max,
    loginDeadlineMs: signal.login_deadline_ms,
    tls: tlsFiles(signal),
  };
}

/** Of a child's, or of one that is served alone. */
export function mediaProcessSettings({ media }: Pick<Settings, 'media'>): MediaProcessSettings {
  return {
    legs: {
      host: media.listen.host,
      port: media.listen.port,
      legsMax: media.legs_max,
      handshakesMax: media.handshakes_max,
      handshakesPerAddressMax: media.handshakes_per_address_max,
      tls: tlsFiles(media),
    },
    workers: media.workers,
    loadMax: media.load_max,
    quality: media.quality,
    sourceMax: { width: media.frame_width_max, height: media.frame_height_max },
    maxFps: media.max_fps,
  };
}

interface TlsSettings {
  readonly tls_cert_file: string | null;
  readonly tls_key_file: string | null;
}

/** Both or neither: the schema sees to it. */
function tlsFiles({ tls_cert_file: certFile, tls_key_file: keyFile }: TlsSettings): TlsFiles | null {
  return certFile === null || keyFile === null ? null : { certFile, keyFile };
}

/** Seconds of its rate that a device or an application may use at once, where no burst is set. */
const deviceBurstSeconds = 3;
const applicationBurstSeconds = 2;

export function wakeupLimitSettings({ wakeup }: Settings): WakeupLimitSettings {
  const { device_per_second: device, application_per_second: application } = wakeup;
  return {
    device: { perSecond: device, burst: wakeup.device_burst ?? burstOf(device, deviceBurstSeconds) },
    application: applicationRate(application, wakeup.application_burst),
    inFlightMax: wakeup.in_flight_max,
  };
}

/** The rates at which one application may call, by kind of request; null: unlimited. */
export interface CallRates {
  readonly queries: Rate | null;
  readonly issuances: Rate | null;
  readonly messages: Rate | null;
  readonly eventReads: Rate | null;
}

export function callRates({ limits }: Settings): CallRates {
  const rate = (perSecond: number | null, burst: number | null): Rate | null =>
    perSecond === null ? null : applicationRate(perSecond, burst);
  return {
    queries: rate(limits.queries_per_second, limits.queries_burst),
    issuances: rate(limits.issuances_per_second, limits.issuances_burst),
    messages: rate(limits.messages_per_second, limits.messages_burst),
    eventReads: rate(limits.event_reads_per_second, limits.event_reads_burst),
  };
}

function applicationRate(perSecond: number, burst: number | null): Rate {
  return { perSecond, burst: burst ?? burstOf(perSecond, applicationBurstSeconds) };
}

/** Never below one: a bucket that holds less than a token never gives one. */
function burstOf(perSecond: number, seconds: number): number {
  return Math.max(1, perSecond * seconds);
}

const threadsMax = 4;

/** Threads of the verification pool: one processor is the main loop's. */
export function verifierThreads({ auth }: Settings, processors: number = availableParallelism()): number {
  return auth.threads > 0 ? auth.threads : Math.min(threadsMax, Math.max(1, processors - 1));
}
