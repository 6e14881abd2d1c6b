/** Which addresses a webhook may go to. */
import { describe, expect, it } from 'vitest'
import { isAddress, isPublicAddress } from '../../durable-objects/public-address.ts'

/** First and last of each block that is not public, and what stands next to it and is. */
const edges: readonly (readonly [string, string, readonly string[]])[] = [
  ['0.0.0.0', '0.255.255.255', ['1.0.0.0']],
  ['10.0.0.0', '10.255.255.255', ['9.255.255.255', '11.0.0.0']],
  ['100.64.0.0', '100.127.255.255', ['100.63.255.255', '100.128.0.0']],
  ['127.0.0.0', '127.255.255.255', ['126.255.255.255', '128.0.0.0']],
  ['169.254.0.0', '169.254.255.255', ['169.253.255.255', '169.255.0.0']],
  ['172.16.0.0', '172.31.255.255', ['172.15.255.255', '172.32.0.0']],
  ['192.0.0.0', '192.0.0.255', ['191.255.255.255', '192.0.1.0']],
  ['192.0.2.0', '192.0.2.255', ['192.0.1.255', '192.0.3.0']],
  ['192.168.0.0', '192.168.255.255', ['192.167.255.255', '192.169.0.0']],
  ['198.18.0.0', '198.19.255.255', ['198.17.255.255', '198.20.0.0']],
  ['198.51.100.0', '198.51.100.255', ['198.51.99.255', '198.51.101.0']],
  ['203.0.113.0', '203.0.113.255', ['203.0.112.255', '203.0.114.0']],
  ['224.0.0.0', '255.255.255.255', ['223.255.255.255']],
  ['::', '1fff:ffff::', ['2000::']],
  ['2001::', '2001:1ff:ffff::', ['2000:ffff::', '2001:200::']],
  ['2001:db8::', '2001:db8:ffff::', ['2001:db7:ffff::', '2001:db9::']],
  ['2002::', '2002:ffff:ffff::', ['2001:ffff:ffff::', '2003::']],
  ['3fff::', '3fff:fff:ffff::', ['3ffe:ffff::', '3fff:1000::']],
  ['4000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', ['3ffe::1']],
]

describe('an address', () => {
  it.each(edges)('from %s to %s is not public, and its neighbours are', (first, last, outside) => {
    expect([first, last].map(isPublicAddress)).toEqual([false, false])
    expect(outside.map(isPublicAddress)).toEqual(outside.map(() => true))
  })

  it.each([
    ['loopback', '::1'],
    ['unspecified', '::'],
    ['unique local', 'fd00::1'],
    ['link-local', 'fe80::1'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['mapped IPv4', '::ffff:10.0.0.1'],
    ['mapped public IPv4', '::ffff:8.8.8.8'],
    ['compatible IPv4', '::127.0.0.1'],
    ['NAT64 of a private one', '64:ff9b::10.0.0.1'],
    ['6to4 of a private one', '2002:0a00:0001::'],
    ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ])('that is %s is not public: %s', (_what, address) => {
    expect([isAddress(address), isPublicAddress(address)]).toEqual([true, false])
  })

  it('in every spelling of IPv6 is the same', () => {
    for (const text of [
      '2606:4700::1111',
      '2606:4700:0:0:0:0:0:1111',
      '2606:4700::0.0.17.17',
      '2606:4700:0000::1111',
    ]) {
      expect([text, isPublicAddress(text)]).toEqual([text, true])
    }
  })

  it.each([
    '',
    'example.com',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '08.8.8.8',
    '1.2.3.4 ',
    ':::',
    '1::2::3',
    '2606:4700',
    '2606:4700:0:0:0:0:0:0:1',
    'fe80::1%eth0',
    '2606::1.2.3',
    '::1::',
    '12345::',
    'g::',
  ])('is not what this is: %j', (text) => {
    expect([isAddress(text), isPublicAddress(text)]).toEqual([false, false])
  })
})
