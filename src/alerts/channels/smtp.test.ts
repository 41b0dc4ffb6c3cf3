import { expect, onTestFinished, test, vi } from 'vitest'
import { testMessage } from '../message.ts'
import { smtpChannel } from './smtp.ts'

test('without nodemailer the error names the package to install', async () => {
  vi.doMock('nodemailer', () => {
    throw new Error('Cannot find package')
  })
  onTestFinished(() => void vi.doUnmock('nodemailer'))
  const send = smtpChannel({ server: 'smtp://127.0.0.1:9', from: 'a@example.com', to: ['b@example.com'] })
  const call = { id: 'x', signal: AbortSignal.timeout(1_000) }
  await expect(send(testMessage('t', new Date(0)), call)).rejects.toThrow(
    'CLIENT_MISSING: alerts by mail need nodemailer: npm install nodemailer',
  )
})
