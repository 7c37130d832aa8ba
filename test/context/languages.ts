/** Short messages in many languages, and queries for some of them in other forms of the words that stand in them. */
export const languages: Readonly<
  Record<string, { readonly said: readonly string[]; readonly asked: readonly (readonly [string, number])[] }>
> = {
  german: {
    said: [
      'Die Rechnungen vom März liegen im blauen Ordner.',
      'Unsere Katze schläft den ganzen Tag auf dem Sofa.',
      'Der Server stürzt nach jedem Update ab.',
      'Im Sommer fahren wir mit dem Fahrrad an die Küste.',
    ],
    asked: [
      ['Wo ist die Rechnung vom März?', 0],
      ['Katzen auf dem Sofa', 1],
      ['Abstürze des Servers nach Updates', 2],
      ['Fahrräder im Sommer', 3],
      ['kuste', 3],
    ],
  },
  french: {
    said: [
      'Les factures du mois de mars sont dans le classeur bleu.',
      'Notre voisine élève des chevaux près de la rivière.',
      'Le serveur redémarre après chaque mise à jour.',
      'Nous partons en vacances à la montagne cet été.',
    ],
    asked: [
      ['où est la facture de mars ?', 0],
      ['les voisins et leurs chevaux', 1],
      ['redémarrage du serveur', 2],
      ['vacances en montagnes', 3],
      ['riviere', 1],
    ],
  },
  spanish: {
    said: [
      'Las facturas de marzo están en la carpeta azul.',
      'Mi hermana cocina paella todos los domingos.',
      'El servidor se reinicia después de cada actualización.',
      'Este verano viajaremos en tren hasta la playa.',
    ],
    asked: [
      ['¿Dónde está la factura de marzo?', 0],
      ['hermanas que cocinan', 1],
      ['actualizaciones del servidor', 2],
      ['viajar en trenes a las playas', 3],
      ['actualizacion', 2],
    ],
  },
  russian: {
    said: [
      'Счета за март лежат в синей папке.',
      'Наша кошка спит на диване целый день.',
      'Сервер падает после каждого обновления.',
      'Летом мы поедем на велосипедах к морю.',
    ],
    asked: [
      ['мартовские счета', 0],
      ['кошки на диване', 1],
      ['обновление сервера', 2],
      ['велосипеды летом', 3],
    ],
  },
  turkish: {
    said: [
      'Mart faturaları mavi klasörde duruyor.',
      'Kedimiz bütün gün kanepede uyuyor.',
      'Sunucu her güncellemeden sonra çöküyor.',
      'Yazın bisikletle sahile gideceğiz.',
    ],
    asked: [
      ['mart faturası', 0],
      ['kanepe', 1],
      ['güncelleme sonrası sunucu', 2],
      ['bisiklet', 3],
    ],
  },
  finnish: {
    said: [
      'Maaliskuun laskut ovat sinisessä kansiossa.',
      'Kissamme nukkuu sohvalla koko päivän.',
      'Palvelin kaatuu jokaisen päivityksen jälkeen.',
      'Kesällä pyöräilemme rannikolle.',
    ],
    asked: [
      ['maaliskuu lasku', 0],
      ['kissa sohva', 1],
      ['palvelimen kaatuminen', 2],
      ['rannikko kesällä', 3],
    ],
  },
  chinese: {
    said: [
      '三月份的发票放在蓝色文件夹里。',
      '我们的猫整天睡在沙发上。',
      '服务器每次更新之后都会崩溃。',
      '夏天我们骑自行车去海边。',
    ],
    asked: [
      ['发票在哪里', 0],
      ['沙发上的猫', 1],
      ['服务器为什么崩溃', 2],
      ['骑自行车', 3],
    ],
  },
  japanese: {
    said: [
      '三月の請求書は青いフォルダーにあります。',
      'うちの猫は一日中ソファーで寝ています。',
      'サーバーは更新のたびに落ちます。',
      '夏には自転車で海岸まで行きます。',
    ],
    asked: [
      ['請求書はどこですか', 0],
      ['猫が寝る場所', 1],
      ['サーバーの更新', 2],
      ['自転車で行く', 3],
    ],
  },
  korean: {
    said: [
      '삼월 청구서는 파란색 폴더에 있습니다.',
      '우리 고양이는 하루 종일 소파에서 잡니다.',
      '서버가 업데이트 후에 항상 멈춥니다.',
      '여름에는 자전거를 타고 바닷가에 갑니다.',
    ],
    asked: [
      ['청구서', 0],
      ['고양이 소파', 1],
      ['서버 업데이트', 2],
      ['자전거로 바닷가까지', 3],
    ],
  },
  thai: {
    said: [
      'ใบแจ้งหนี้เดือนมีนาคมอยู่ในแฟ้มสีน้ำเงิน',
      'แมวของเรานอนบนโซฟาทั้งวัน',
      'เซิร์ฟเวอร์ล่มหลังการอัปเดตทุกครั้ง',
      'ฤดูร้อนเราจะขี่จักรยานไปทะเล',
    ],
    asked: [
      ['ใบแจ้งหนี้อยู่ที่ไหน', 0],
      ['แมวนอน', 1],
      ['เซิร์ฟเวอร์ล่ม', 2],
      ['ขี่จักรยาน', 3],
    ],
  },
  hindi: {
    said: [
      'मार्च के बिल नीले फ़ोल्डर में हैं।',
      'हमारी बिल्ली पूरे दिन सोफ़े पर सोती है।',
      'सर्वर हर अपडेट के बाद बंद हो जाता है।',
      'गर्मियों में हम साइकिल से समुद्र तट जाएंगे।',
    ],
    asked: [
      ['मार्च का बिल कहाँ है', 0],
      ['बिल्ली कहाँ सोती', 1],
      ['सर्वर अपडेट', 2],
      ['समुद्र साइकिल', 3],
    ],
  },
  arabic: {
    said: [
      'فواتير شهر مارس موجودة في المجلد الأزرق.',
      'قطتنا تنام على الأريكة طوال اليوم.',
      'يتعطل الخادم بعد كل تحديث.',
      'في الصيف نذهب بالدراجات إلى الشاطئ.',
    ],
    asked: [
      ['فواتير مارس', 0],
      ['تنام على الأريكة', 1],
      ['الخادم بعد التحديث', 2],
      ['الشاطئ في الصيف', 3],
    ],
  },
}
