/** Rates of WebRTC requests, by address, by call and in all. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RtcRates } from '../../../../src/media/legs/rtc-rates.ts';
import { rtcAddressOfferRateMax, rtcOfferRateMax } from '../../../../src/model/media/rtc-limits.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';

test('an address is one whole /64 of IPv6, and one IPv4 address in any notation', () => {
  const rates = new RtcRates(new DrivenClock(), true);
  for (let i = 0; i < rtcAddressOfferRateMax.burst; i += 1)
    assert.equal(rates.countRequest(`2001:db8::${i.toString(16)}`, true), 0);
  assert(rates.countRequest('2001:db8::ffff:1', true) > 0);
  assert.equal(rates.countRequest('2001:db8::1', false), 0, 'it may still change its sessions');
  assert.equal(rates.countRequest('2001:db8:0:1::1', true), 0);
  for (let i = 0; i < rtcAddressOfferRateMax.burst; i += 1) rates.countRequest('::ffff:192.0.2.1', true);
  assert(rates.countRequest('192.0.2.1', true) > 0);
});

test('a call has its own rate, which recovers with time', () => {
  const clock = new DrivenClock();
  const rates = new RtcRates(clock, false);
  for (let i = 0; i < rtcOfferRateMax.burst; i += 1) assert.equal(rates.countOfferOfCall('a'), 0);
  assert.equal(rates.countOfferOfCall('a'), 1000);
  assert.equal(rates.countOfferOfCall('b'), 0);
  clock.advance(1000);
  assert.equal(rates.countOfferOfCall('a'), 0);
});
