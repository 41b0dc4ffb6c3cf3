import { useData, withBase } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { h } from 'vue'
import './style.css'

/** The address of the page for programs, below its text. */
const PlainPage = {
  setup() {
    const { page } = useData()
    return () => {
      const href = withBase(`/${page.value.relativePath}`)
      return h('p', { class: 'plain-page' }, h('a', { href, target: '_self' }, 'This page as Markdown'))
    }
  },
}

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'doc-footer-before': () => h(PlainPage) }),
}
