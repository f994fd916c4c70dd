/** The peers' response to a connectivity query: the same fields and bytes as ours. */

const loggedInAt = 1_763_712_000;

export function connectivityAnswer(deviceId: string): object {
  return {
    code: 0,
    message: 'success',
    data: {
      device_id: deviceId,
      signal: { is_online: false, last_login_at: null, last_heartbeat_at: null, last_offline_at: null },
      sleep: { last_login_at: loggedInAt, last_heartbeat_at: loggedInAt + 1, last_offline_at: null },
    },
  };
}
