/** VitePress's own theme, with room for code of 120 columns. */
import theme from 'vitepress/theme'
import './code.css'

export default theme
