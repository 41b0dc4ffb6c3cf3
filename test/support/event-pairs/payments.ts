import type { EventPairs } from './pair.ts'

const AT = '2024-05-01T10:00:00Z'
const LATER = '2024-05-01T10:00:01Z'

const trade = { notify_type: 'trade_status_sync', trade_no: '1', trade_status: 'TRADE_SUCCESS' }

const charge = { ipgTransactionId: '1', chargetotal: '13.00', currency: '978' }

const transaction = {
  id: 1,
  success: true,
  pending: false,
  error_occured: false,
  is_auth: false,
  is_capture: false,
  is_refunded: false,
  is_voided: false,
}

/** More providers of payments and shops. */
export const paymentPairs: EventPairs = {
  alipay: {
    'a trade': {
      event: { ...trade, notify_id: 'a', notify_time: '2024-05-01 10:00:00' },
      other: { trade_no: '2' },
      attempt: { notify_id: 'b', notify_time: '2024-05-01 10:04:00' },
    },
    'its status': { event: trade, other: { trade_status: 'TRADE_FINISHED' } },
    'two refunds of one trade': {
      event: { ...trade, out_biz_no: '1', refund_fee: '1.00', gmt_refund: '2024-05-01 10:00:00' },
      other: { out_biz_no: '2', refund_fee: '2.00' },
    },
    'without a trade': {
      event: { notify_type: 'dut_user_sign', notify_id: 'a' },
      other: { notify_id: 'b' },
    },
  },
  'bridge-api': {
    'item.refreshed': {
      event: { type: 'item.refreshed', timestamp: 1, content: { item_id: 1 } },
      other: { timestamp: 2 },
    },
  },
  commercelayer: {
    'orders.place': {
      event: { data: { id: 'o', type: 'orders', attributes: { updated_at: AT } } },
      other: { data: { attributes: { updated_at: LATER } } },
      headers: { 'x-commercelayer-topic': 'orders.place' },
    },
    'two topics of one change': {
      event: { data: { id: 'o', type: 'orders', attributes: { updated_at: AT } } },
      headers: { 'x-commercelayer-topic': 'orders.place' },
      otherHeaders: { 'x-commercelayer-topic': 'orders.pay' },
    },
  },
  fiserv: {
    'a charge': {
      event: { ...charge, status: 'APPROVED', tdate: '1' },
      other: { ipgTransactionId: '2' },
      attempt: { tdate: '2' },
    },
    'a charge that waits, and its result': {
      event: { ...charge, status: 'WAITING' },
      other: { status: 'APPROVED' },
    },
    'two attempts of one order': {
      event: { ...charge, oid: 'o-1', status: 'DECLINED' },
      other: { ipgTransactionId: '2' },
    },
  },
  nuvemshop: {
    'order/created': {
      event: { store_id: 1, event: 'order/created', id: 1 },
      other: { id: 2 },
    },
    'order/updated': {
      event: { store_id: 1, event: 'order/updated', id: 1 },
      retryIsNew: 'two updates have the same body',
    },
  },
  paymob: {
    'two transactions': {
      event: { type: 'TRANSACTION', obj: transaction },
      other: { obj: { id: 2 } },
      attempt: { transaction_processed_callback_responses: [1] },
    },
    'a transaction and its refund': {
      event: { type: 'TRANSACTION', obj: transaction },
      other: { obj: { is_refunded: true } },
    },
    'two refunds of one transaction': {
      event: { type: 'TRANSACTION', obj: { ...transaction, is_refunded: true, refunded_amount_cents: 100 } },
      other: { obj: { refunded_amount_cents: 200 } },
    },
  },
  recurly: {
    'subscription.updated': {
      event: { id: 's', object_type: 'subscription', event_type: 'updated', event_time: AT },
      other: { event_time: LATER },
      headers: { 'recurly-signature': '1,aa' },
      attemptHeaders: { 'recurly-signature': '2,bb' },
    },
  },
  synctera: {
    'TRANSACTION.CREATED': {
      event: { type: 'TRANSACTION.CREATED', id: 'a' },
      other: { id: 'b' },
      attemptHeaders: { 'request-timestamp': '2' },
    },
  },
  walmart: {
    PO_CREATED: {
      event: { eventType: 'PO_CREATED', resource: { purchaseOrderId: '1' } },
      other: { resource: { purchaseOrderId: '2' } },
      attemptHeaders: { 'wm_sec.timestamp': '2' },
    },
  },
}
